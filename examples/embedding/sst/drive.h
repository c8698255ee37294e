// A component of SST that is an SSD of ssdlab: docs/embedding.md.
#ifndef SSDLAB_SST_DRIVE_H
#define SSDLAB_SST_DRIVE_H

#include <cstdint>
#include <string>
#include <type_traits>
#include <unordered_map>

#include <sst/core/component.h>
#include <sst/core/event.h>
#include <sst/core/link.h>
#include <sst/core/params.h>

#include <ssdlab.h>

namespace SST::ssdlab
{

/** Whether SST's Event::Handler names its method among its template's arguments, as it does from SST 16 on. */
template <typename Events, typename Class, void (Class::*method)(SST::Event*), typename = void>
struct HandlerNamesMethod : std::false_type {};
template <typename Events, typename Class, void (Class::*method)(SST::Event*)>
struct HandlerNamesMethod<Events, Class, method, std::void_t<typename Events::template Handler<Class, method>>> :
    std::true_type {};

/** What gives events to a method. It is a Handler2 in SST 14 and 15, a Handler in SST 17, and either in SST 16. */
template <typename Class, void (Class::*method)(SST::Event*), typename Events = SST::Event>
auto* handler(Class* object)
{
    if constexpr (HandlerNamesMethod<Events, Class, method>::value)
        return new typename Events::template Handler<Class, method>(object);
    else
        return new typename Events::template Handler2<Class, method>(object);
}

/** A request on its way to the drive, and the same event on its way back. */
class BlockEvent : public SST::Event
{
public:
    BlockEvent() = default;
    BlockEvent(uint64_t tag, uint8_t op, uint64_t offset, uint64_t bytes) :
        tag(tag), offset(offset), bytes(bytes), op(op)
    {}

    /** The sender's: it comes back as it was. */
    uint64_t tag = 0;
    uint64_t offset = 0;
    uint64_t bytes = 0;
    /** SSDLAB_READ, SSDLAB_WRITE, SSDLAB_TRIM or SSDLAB_FLUSH. */
    uint8_t op = 0;
    uint16_t queue = 0;
    /** Of an answer: its data could not be corrected, or the drive has become read-only. */
    bool failed = false;

    void serialize_order(SST::Core::Serialization::serializer& ser) override
    {
        Event::serialize_order(ser);
        SST_SER(tag);
        SST_SER(offset);
        SST_SER(bytes);
        SST_SER(op);
        SST_SER(queue);
        SST_SER(failed);
    }
    ImplementSerializable(SST::ssdlab::BlockEvent);
};

class Drive : public SST::Component
{
public:
    SST_ELI_REGISTER_COMPONENT(Drive, "ssdlab_sst", "Drive", SST_ELI_ELEMENT_VERSION(1, 0, 0),
        "A NAND-flash SSD with retries, garbage collection and suspension", COMPONENT_CATEGORY_MEMORY)
    SST_ELI_DOCUMENT_PARAMS(
        { "device", "A preset of ssdlab, or the path of a device file", "tlc" },
        { "scheme", "A named scheme, or choices: axis=choice,...", "" },
        { "age", "The state at the start: pec=2000,retention=6mo", "" },
        { "settings", "Configuration keys, section.key=value each", "[]" },
        { "seed", "Of all random streams", "1" },
        { "result", "Where the result is written at the end (JSON)", "" },
        { "requests_out", "Where a row for each request is written (Parquet)", "" })
    SST_ELI_DOCUMENT_PORTS({ "host", "Requests and their answers", { "ssdlab_sst.BlockEvent" } })

    Drive(SST::ComponentId_t id, SST::Params& params);
    ~Drive() { ssdlab_free(drive); }

    void finish() override;

private:
    void request(SST::Event* event);
    void step(SST::Event* event);
    void advance();
    void wake();
    void check(ssdlab_status status);

    ssdlab_drive* drive = nullptr;
    std::string result;
    SST::Link* host;
    SST::Link* self;
    /** When the earliest event comes that has been sent to oneself: one that has been sent cannot be taken back. */
    uint64_t awake = SSDLAB_NEVER;
    /** Requests that wait for the drive, by their numbers. */
    std::unordered_map<uint64_t, BlockEvent*> waiting;
};

} // namespace SST::ssdlab

#endif // SSDLAB_SST_DRIVE_H
