#include "mem/ssdlab/ssdlab.hh"

#include <algorithm>
#include <fstream>
#include <vector>

#include "base/logging.hh"
#include "sim/core.hh"
#include "sim/cur_tick.hh"
#include "sim/sim_exit.hh"

namespace gem5
{
namespace memory
{

namespace
{

/** The drive counts nanoseconds, gem5 ticks. */
uint64_t
nanoseconds()
{
    return curTick() / sim_clock::as_int::ns;
}

const char *
given(const std::string &text)
{
    return text.empty() ? nullptr : text.c_str();
}

} // namespace

SsdlabMemory::SsdlabMemory(const SsdlabMemoryParams &params)
    : AbstractMemory(params),
      port(params.name + ".port", *this),
      result(params.result),
      event([this] { step(); }, params.name)
{
    std::vector<const char *> settings;
    for (const auto &setting : params.settings)
        settings.push_back(setting.c_str());
    ssdlab_options options = ssdlab_defaults();
    options.device = given(params.device);
    options.scheme = given(params.scheme);
    options.age = given(params.age);
    options.settings = settings.data();
    options.setting_count = settings.size();
    options.seed = params.seed;
    options.requests_out = given(params.requests_out);
    char *error = nullptr;
    fatal_if(ssdlab_open(&options, &drive, &error) != SSDLAB_STATUS_OK, "%s", error);
    uint64_t capacity = 0;
    check(ssdlab_capacity(drive, &capacity));
    fatal_if(size() > capacity, "the drive has %d bytes, and its range %d", capacity, size());
    registerExitCallback([this] { finish(); });
}

void
SsdlabMemory::init()
{
    AbstractMemory::init();
    port.sendRangeChange();
}

Port &
SsdlabMemory::getPort(const std::string &name, PortID index)
{
    return name == "port" ? port : AbstractMemory::getPort(name, index);
}

bool
SsdlabMemory::request(PacketPtr packet)
{
    const bool answered = packet->needsResponse();
    if (packet->cacheResponding() || (!answered && !packet->isWrite())) {
        dropped.reset(packet);
        return true;
    }
    if (packet->isRead() || packet->isWrite()) {
        // What a sleeping drive has done by itself comes before.
        if (sleeps())
            check(ssdlab_advance(drive, nanoseconds()));
        ssdlab_request request = {};
        request.time = nanoseconds();
        request.offset = packet->getAddr() - getAddrRange().start();
        request.bytes = packet->getSize();
        request.op = packet->isRead() ? SSDLAB_READ : SSDLAB_WRITE;
        uint64_t id = 0;
        check(ssdlab_submit(drive, &request, &id));
        if (answered)
            waiting.emplace(id, packet);
    } else {
        done.push_back(packet);
    }
    // The data moves at once, the answer waits for the drive, whose link takes the place of the crossbar's delays.
    packet->headerDelay = packet->payloadDelay = 0;
    access(packet);
    if (!answered)
        dropped.reset(packet);
    wake();
    return true;
}

/** The drive has something to do now, or an answer waits. */
void
SsdlabMemory::step()
{
    if (!sleeps())
        check(ssdlab_advance(drive, nanoseconds()));
    ssdlab_completion completions[64];
    size_t taken = 0;
    do {
        check(ssdlab_take_completions(drive, completions, 64, &taken));
        for (size_t index = 0; index < taken; ++index) {
            auto found = waiting.find(completions[index].id);
            if (found == waiting.end())
                continue;
            done.push_back(found->second);
            waiting.erase(found);
        }
    } while (taken == 64);
    respond();
    wake();
}

/**
 * No request waits for the drive. What it does by itself then is played when the next one comes, and the result ends with
 * the last completion, as that of a replay does.
 */
bool
SsdlabMemory::sleeps() const
{
    uint64_t outstanding = 0;
    check(ssdlab_outstanding(drive, &outstanding));
    return outstanding == 0;
}

/** The event is scheduled for the next time at which something happens that a request waits for. */
void
SsdlabMemory::wake()
{
    uint64_t next = SSDLAB_NEVER;
    if (!sleeps())
        check(ssdlab_next_event(drive, &next));
    if (!done.empty() && !blocked)
        next = nanoseconds();
    if (next != SSDLAB_NEVER)
        reschedule(event, std::max<Tick>(next * sim_clock::as_int::ns, curTick()), true);
}

void
SsdlabMemory::respond()
{
    while (!done.empty() && !blocked) {
        blocked = !port.sendTimingResp(done.front());
        if (!blocked)
            done.pop_front();
    }
    if (waiting.empty() && done.empty() && drainState() == DrainState::Draining)
        signalDrainDone();
}

void
SsdlabMemory::MemoryPort::recvRespRetry()
{
    memory.blocked = false;
    memory.respond();
}

/** Atomic mode warms caches up and asks for no time: the drive takes no part in it. */
Tick
SsdlabMemory::MemoryPort::recvAtomic(PacketPtr packet)
{
    memory.access(packet);
    return 0;
}

DrainState
SsdlabMemory::drain()
{
    return waiting.empty() && done.empty() ? DrainState::Drained : DrainState::Draining;
}

void
SsdlabMemory::finish()
{
    char *json = nullptr;
    check(ssdlab_result(drive, &json));
    if (!result.empty())
        std::ofstream(result) << json;
    ssdlab_string_free(json);
    check(ssdlab_finish(drive));
}

void
SsdlabMemory::check(ssdlab_status status) const
{
    if (status == SSDLAB_STATUS_OK)
        return;
    char *error = ssdlab_last_error(drive);
    fatal("%s", error ? error : "a null pointer");
}

} // namespace memory
} // namespace gem5
