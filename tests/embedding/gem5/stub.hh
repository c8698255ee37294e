// What the glue of examples/embedding/gem5 uses of gem5, by the same names: an event queue, a port with its peer, a memory.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <vector>

namespace gem5
{

using Tick = uint64_t;
using Addr = uint64_t;
using PortID = int16_t;
const PortID InvalidPortID = -1;

namespace sim_clock::as_int
{
const Tick ns = 1000;
}

template <typename... Arguments> [[noreturn]] void fatal(const char *text, Arguments... arguments)
{
    if constexpr (sizeof...(arguments) > 0)
        std::fprintf(stderr, text, arguments...);
    std::exit(1);
}
#define fatal_if(condition, ...)                                                                                        \
    do {                                                                                                               \
        if (condition)                                                                                                 \
            fatal("%s: " #condition "\n", "fatal");                                                                    \
    } while (false)

/** Events in the order of their times, and of being scheduled at the same time. */
struct EventFunctionWrapper
{
    EventFunctionWrapper(std::function<void()> act, const std::string &) : act(std::move(act)) {}
    std::function<void()> act;
};

struct EventQueue
{
    Tick now = 0;
    std::multimap<Tick, EventFunctionWrapper *> events;

    void deschedule(EventFunctionWrapper &event)
    {
        for (auto at = events.begin(); at != events.end(); ++at) {
            if (at->second == &event) {
                events.erase(at);
                return;
            }
        }
    }
    void schedule(EventFunctionWrapper &event, Tick when)
    {
        if (when < now)
            fatal("an event is scheduled in the past\n%s", "");
        events.emplace(when, &event);
    }
    void run()
    {
        while (!events.empty()) {
            auto next = *events.begin();
            events.erase(events.begin());
            now = next.first;
            next.second->act();
        }
    }
};

inline EventQueue queue;
inline Tick curTick() { return queue.now; }
inline std::vector<std::function<void()>> exit_callbacks;
inline void registerExitCallback(const std::function<void()> &callback) { exit_callbacks.push_back(callback); }

class Packet
{
  public:
    Packet(bool read, Addr addr, unsigned size, bool answered) : data(size), read(read), addr(addr), answered(answered) {}
    bool isRead() const { return read; }
    bool isWrite() const { return !read; }
    bool needsResponse() const { return answered; }
    bool cacheResponding() const { return false; }
    Addr getAddr() const { return addr; }
    unsigned getSize() const { return data.size(); }
    uint64_t number = 0;
    Tick headerDelay = 0, payloadDelay = 0;
    std::vector<uint8_t> data;

  private:
    bool read;
    Addr addr;
    bool answered;
};
using PacketPtr = Packet *;

struct AddrRange
{
    Addr first = 0, bytes = 0;
    Addr start() const { return first; }
};
using AddrRangeList = std::list<AddrRange>;

struct Port
{
    virtual ~Port() = default;
};

class ResponsePort : public Port
{
  public:
    explicit ResponsePort(const std::string &, PortID = InvalidPortID) {}
    void sendRangeChange() const { ranges_sent = true; }
    bool sendTimingResp(PacketPtr packet) { return peer(packet); }
    virtual Tick recvAtomic(PacketPtr) = 0;
    virtual void recvFunctional(PacketPtr) = 0;
    virtual bool recvTimingReq(PacketPtr) = 0;
    virtual void recvRespRetry() = 0;
    virtual AddrRangeList getAddrRanges() const = 0;
    std::function<bool(PacketPtr)> peer;
    mutable bool ranges_sent = false;
};

enum class DrainState { Running, Draining, Drained };

struct SsdlabMemoryParams
{
    std::string name, device, scheme, age;
    std::vector<std::string> settings;
    uint64_t seed = 1;
    std::string result, requests_out;
    AddrRange range;
};

namespace memory
{

class AbstractMemory
{
  public:
    explicit AbstractMemory(const SsdlabMemoryParams &params) : range(params.range), bytes(params.range.bytes) {}
    virtual ~AbstractMemory() = default;
    virtual void init() {}
    virtual Port &getPort(const std::string &, PortID) { std::abort(); }
    virtual DrainState drain() = 0;
    DrainState drainState() const { return state; }
    void signalDrainDone() { state = DrainState::Drained; }
    AddrRange getAddrRange() const { return range; }
    uint64_t size() const { return range.bytes; }
    void access(PacketPtr packet)
    {
        uint8_t *place = &bytes[packet->getAddr() - range.first];
        if (packet->isRead())
            std::memcpy(packet->data.data(), place, packet->getSize());
        else
            std::memcpy(place, packet->data.data(), packet->getSize());
    }
    void functionalAccess(PacketPtr packet) { access(packet); }
    void reschedule(EventFunctionWrapper &event, Tick when, bool)
    {
        queue.deschedule(event);
        queue.schedule(event, when);
    }
    DrainState state = DrainState::Running;

  private:
    AddrRange range;
    std::vector<uint8_t> bytes;
};

} // namespace memory
} // namespace gem5
