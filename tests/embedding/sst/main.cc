// Drives the component as SST would: a host whose events reach it over a link of 2.5 ns, and get their answers back.
// With any argument it only reads and writes, from time 0 on: a trace does no more.
#include <sst/core/sst_config.h>

#include <cinttypes>

#include "drive.h"

using namespace SST;

class Host : public Component
{
public:
    Host(Link* drive, bool all) : Component(1), drive(drive), all(all)
    {
        next = configureLink("next", ssdlab::handler<Host, &Host::send>(this));
        next->to = next->own.get();
        answers = configureLink("answers", ssdlab::handler<Host, &Host::answered>(this));
        next->send(0, nullptr);
    }
    Link* answers;

private:
    void send(Event*)
    {
        const uint8_t ops[] = {SSDLAB_READ, SSDLAB_WRITE, SSDLAB_READ, SSDLAB_TRIM, SSDLAB_WRITE, SSDLAB_FLUSH};
        const uint8_t op = ops[sent % (all ? 6 : 3)];
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
    bool all;
    Link* next;
    uint64_t sent = 0;
};

int main(int argc, char**)
{
    Params params;
    params.values = {{"device", "tlc"}, {"result", "result.json"}, {"requests_out", "requests.parquet"}};
    params.array = {"host.t_submit=700ns"};
    ssdlab::Drive drive(0, params);
    Link* port = drive.links["host"].get();
    Link there;
    there.to = port->own.get();
    Host host(&there, argc == 1);
    port->to = host.answers->own.get();
    there.latency = port->latency = argc == 1 ? 2500 : 0;
    simulation.run();
    drive.finish();
}
