// Drives the component as SST would: a host whose events reach it over a link of 2.5 ns, and get their answers back.
#include <cinttypes>

#include "drive.h"

using namespace SST;

class Host : public Component
{
public:
    explicit Host(Link* drive) : Component(1), drive(drive)
    {
        next = configureLink("next", new Event::Handler2<Host, &Host::send>(this));
        next->to = next->own.get();
        answers = configureLink("answers", new Event::Handler2<Host, &Host::answered>(this));
        next->send(0, nullptr);
    }
    Link* answers;

private:
    void send(Event*)
    {
        const uint8_t ops[] = {SSDLAB_READ, SSDLAB_WRITE, SSDLAB_READ, SSDLAB_TRIM, SSDLAB_WRITE, SSDLAB_FLUSH};
        const uint8_t op = ops[sent % 6];
        const uint64_t page = sent * 7919 % 4096;
        auto* event = new ssdlab::BlockEvent(sent, op, page * 4096, op == SSDLAB_FLUSH ? 0 : 4096);
        event->queue = sent % 3;
        drive->send(event);
        if (++sent < 600)
            next->send(sent % 3 * 1777, nullptr);
    }
    void answered(Event* event)
    {
        auto* block = static_cast<ssdlab::BlockEvent*>(event);
        std::printf("%" PRIu64 " %" PRIu64 " %d\n", block->tag, simulation.now, !block->failed);
        delete block;
    }
    Link* drive;
    Link* next;
    uint64_t sent = 0;
};

int main()
{
    Params params;
    params.values = {{"device", "tlc"}, {"result", "result.json"}, {"requests_out", "requests.parquet"}};
    params.array = {"host.t_submit=700ns"};
    ssdlab::Drive drive(0, params);
    Link* port = drive.links["host"].get();
    Link there;
    there.to = port->own.get();
    Host host(&there);
    port->to = host.answers->own.get();
    there.latency = port->latency = 2500;
    simulation.run();
    drive.finish();
}
