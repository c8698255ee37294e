// A memory of gem5 whose timing is that of an SSD of ssdlab: docs/embedding.md.
#ifndef MEM_SSDLAB_SSDLAB_HH
#define MEM_SSDLAB_SSDLAB_HH

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>

#include <ssdlab.h>

#include "mem/abstract_mem.hh"
#include "mem/port.hh"
#include "params/SsdlabMemory.hh"

namespace gem5
{
namespace memory
{

class SsdlabMemory : public AbstractMemory
{
    class MemoryPort : public ResponsePort
    {
        SsdlabMemory &memory;

      public:
        MemoryPort(const std::string &name, SsdlabMemory &memory) : ResponsePort(name), memory(memory) {}

      protected:
        Tick recvAtomic(PacketPtr packet) override;
        void recvFunctional(PacketPtr packet) override { memory.functionalAccess(packet); }
        bool recvTimingReq(PacketPtr packet) override { return memory.request(packet); }
        void recvRespRetry() override;
        AddrRangeList getAddrRanges() const override { return {memory.getAddrRange()}; }
    };

    MemoryPort port;
    ssdlab_drive *drive = nullptr;
    const std::string result;
    /** Packets that wait for the drive, by the numbers of their requests. */
    std::unordered_map<uint64_t, PacketPtr> waiting;
    /** Packets that are done; they wait for the port if it is blocked. */
    std::deque<PacketPtr> done;
    bool blocked = false;
    /** A packet without an answer: its sender may still look at it until the call returns. */
    std::unique_ptr<Packet> dropped;
    EventFunctionWrapper event;

    bool request(PacketPtr packet);
    void step();
    void wake();
    bool sleeps() const;
    void respond();
    void finish();
    void check(ssdlab_status status) const;

  public:
    SsdlabMemory(const SsdlabMemoryParams &params);
    ~SsdlabMemory() { ssdlab_free(drive); }

    void init() override;
    Port &getPort(const std::string &name, PortID index = InvalidPortID) override;
    DrainState drain() override;
};

} // namespace memory
} // namespace gem5

#endif // MEM_SSDLAB_SSDLAB_HH
