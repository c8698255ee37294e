#include <sst/core/sst_config.h>

#include "drive.h"

#include <fstream>
#include <vector>

namespace SST::ssdlab
{

namespace
{

/** Reminds the drive of the time. */
class WakeEvent : public SST::Event
{
public:
    void serialize_order(SST::Core::Serialization::serializer& ser) override { Event::serialize_order(ser); }
    ImplementSerializable(SST::ssdlab::WakeEvent);
};

const char* given(const std::string& text)
{
    return text.empty() ? nullptr : text.c_str();
}

} // namespace

Drive::Drive(SST::ComponentId_t id, SST::Params& params) : Component(id)
{
    const auto device = params.find<std::string>("device", "tlc");
    const auto scheme = params.find<std::string>("scheme", "");
    const auto age = params.find<std::string>("age", "");
    const auto requests_out = params.find<std::string>("requests_out", "");
    std::vector<std::string> settings;
    params.find_array<std::string>("settings", settings);
    std::vector<const char*> words;
    for (const auto& setting : settings)
        words.push_back(setting.c_str());
    result = params.find<std::string>("result", "");

    ssdlab_options options = ssdlab_defaults();
    options.device = given(device);
    options.scheme = given(scheme);
    options.age = given(age);
    options.settings = words.data();
    options.setting_count = words.size();
    options.seed = params.find<uint64_t>("seed", 1);
    options.requests_out = given(requests_out);
    char* error = nullptr;
    if (ssdlab_open(&options, &drive, &error) != SSDLAB_STATUS_OK)
        getSimulationOutput().fatal(CALL_INFO, 1, "%s: %s\n", getName().c_str(), error);

    host = configureLink("host", handler<Drive, &Drive::request>(this));
    sst_assert(host, CALL_INFO, 1, "%s: connect the port host\n", getName().c_str());
    self = configureSelfLink("wake", "1ns", handler<Drive, &Drive::step>(this));
}

void Drive::request(SST::Event* event)
{
    auto* block = static_cast<BlockEvent*>(event);
    // What the drive has done by itself since its last completion comes before.
    advance();
    ssdlab_request request = {};
    request.time = getCurrentSimTimeNano();
    request.offset = block->offset;
    request.bytes = block->bytes;
    request.op = block->op;
    request.queue = block->queue;
    uint64_t id = 0;
    check(ssdlab_submit(drive, &request, &id));
    waiting.emplace(id, block);
    wake();
}

/** The drive has something to do now. */
void Drive::step(SST::Event* event)
{
    delete event;
    if (awake <= getCurrentSimTimeNano())
        awake = SSDLAB_NEVER;
    if (waiting.empty())
        return;
    advance();
    wake();
}

/** Plays the drive up to now, and sends what has completed. */
void Drive::advance()
{
    check(ssdlab_advance(drive, getCurrentSimTimeNano()));
    ssdlab_completion completions[64];
    size_t taken = 0;
    do {
        check(ssdlab_take_completions(drive, completions, 64, &taken));
        for (size_t index = 0; index < taken; ++index) {
            auto found = waiting.find(completions[index].id);
            found->second->failed = completions[index].uncorrectable || completions[index].refused;
            host->send(found->second);
            waiting.erase(found);
        }
    } while (taken == 64);
}

/**
 * An event to oneself comes when something happens next. A drive that nobody waits for sleeps: what it does by itself is
 * played when the next request comes, and the result ends with the last completion, as that of a replay does.
 */
void Drive::wake()
{
    uint64_t next = 0;
    check(ssdlab_next_event(drive, &next));
    if (waiting.empty() || next >= awake)
        return;
    awake = next;
    self->send(next - getCurrentSimTimeNano(), new WakeEvent);
}

void Drive::finish()
{
    char* json = nullptr;
    check(ssdlab_result(drive, &json));
    if (!result.empty())
        std::ofstream(result) << json;
    ssdlab_string_free(json);
    check(ssdlab_finish(drive));
}

void Drive::check(ssdlab_status status)
{
    if (status == SSDLAB_STATUS_OK)
        return;
    char* error = ssdlab_last_error(drive);
    getSimulationOutput().fatal(CALL_INFO, 1, "%s: %s\n", getName().c_str(), error ? error : "a null pointer");
}

} // namespace SST::ssdlab
