// Drives the glue as a gem5 system would: packets at any ticks, a port that refuses answers now and then, a drain at the end.
#include <cinttypes>

#include "mem/ssdlab/ssdlab.hh"

using namespace gem5;

int main()
{
    const Addr base = 1 << 20, bytes = 64 << 20;
    SsdlabMemoryParams params;
    params.name = "ssd";
    params.device = "tlc";
    params.settings = {"host.t_submit=700ns"};
    params.result = "result.json";
    params.requests_out = "requests.parquet";
    params.range = {base, bytes};
    memory::SsdlabMemory memory(params);
    memory.init();
    auto &port = dynamic_cast<ResponsePort &>(memory.getPort("port"));
    EventFunctionWrapper retry([&] { port.recvRespRetry(); }, "retry");
    uint64_t offered = 0;
    port.peer = [&](PacketPtr packet) {
        if (++offered % 5 == 0) {
            queue.schedule(retry, curTick() + 300);
            return false;
        }
        const bool right = !packet->isRead() || packet->data[0] == static_cast<uint8_t>(packet->getAddr() >> 6);
        std::printf("%" PRIu64 " %" PRIu64 " %d\n", packet->number, curTick(), right);
        delete packet;
        return true;
    };
    uint64_t number = 0;
    EventFunctionWrapper send([&] {
        // Each block is written, and read 40 packets later; every seventh write has no answer.
        const bool read = number % 2 == 1 && number > 80;
        const uint64_t block = read ? number - 81 : number;
        const Addr addr = base + block * 7919 * 64 % bytes;
        auto *packet = new Packet(read, addr, 64, read || number % 7 != 0);
        packet->number = number++;
        std::fill(packet->data.begin(), packet->data.end(), static_cast<uint8_t>(addr >> 6));
        if (read)
            packet->data[0] = 0;
        if (!port.recvTimingReq(packet))
            fatal("the memory refuses a packet\n%s", "");
        if (number < 600)
            queue.schedule(send, curTick() + number % 3 * 1234567);
        else
            memory.state = memory.drain();
    }, "send");
    queue.schedule(send, 0);
    queue.run();
    std::printf("%s\n", memory.state == DrainState::Drained && port.ranges_sent ? "drained" : "not drained");
    for (auto &callback : exit_callbacks)
        callback();
}
