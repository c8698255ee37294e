// What the glue of examples/embedding/sst uses of SST, by the same names: links whose events come in time, and a component.
// SST_MAJOR says of which SST: 14 (and 15), 16 or 17.
#pragma once

#ifndef PACKAGE_VERSION
#error sst_config.h comes before the other headers of SST
#endif

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#define CALL_INFO __LINE__, __FILE__, __func__
#define SST_SER(field) ((void)ser, (void)(field))
#define ImplementSerializable(...)                                                                                      \
    static_assert(true)
#define SST_ELI_ELEMENT_VERSION(...) {}
#define COMPONENT_CATEGORY_MEMORY 2
#define SST_ELI_REGISTER_COMPONENT(...)
#define SST_ELI_DOCUMENT_PARAMS(...)
#define SST_ELI_DOCUMENT_PORTS(...)
#define sst_assert(condition, ...)                                                                                      \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            getSimulationOutput().fatal(__VA_ARGS__);                                                                  \
    } while (false)

namespace SST
{

using ComponentId_t = uint64_t;
using SimTime_t = uint64_t;

namespace Core::Serialization
{
struct serializer {};
} // namespace Core::Serialization

class Event
{
public:
    virtual ~Event() = default;
    virtual void serialize_order(Core::Serialization::serializer&) {}

    struct HandlerBase
    {
        virtual ~HandlerBase() = default;
        virtual void operator()(Event*) = 0;
    };
    template <typename Class, auto method, typename Data = void> struct Naming : HandlerBase
    {
        explicit Naming(Class* object) : object(object) {}
        void operator()(Event* event) override { (object->*method)(event); }
        Class* object;
    };
#if SST_MAJOR < 16
    /** Takes its method as an argument. */
    template <typename Class, typename Data = void> struct [[deprecated]] Handler : HandlerBase
    {
        Handler(Class* object, void (Class::*method)(Event*));
    };
    template <typename Class, auto method, typename Data = void> using Handler2 = Naming<Class, method, Data>;
#else
    template <typename Class, auto method, typename Data = void> using Handler = Naming<Class, method, Data>;
#endif
#if SST_MAJOR == 16
    template <typename Class, auto method, typename Data = void>
    using Handler2 [[deprecated]] = Naming<Class, method, Data>;
#endif
};

/** Simulated time [ps], and events in the order of their times and of being sent. */
struct Simulation
{
    SimTime_t now = 0;
    std::multimap<SimTime_t, std::pair<Event::HandlerBase*, Event*>> events;

    void run()
    {
        while (!events.empty()) {
            auto next = *events.begin();
            events.erase(events.begin());
            now = next.first;
            (*next.second.first)(next.second.second);
        }
    }
};
inline Simulation simulation;

class Link
{
public:
    /** Who gets what is sent, and how much later [ps]. */
    std::unique_ptr<Event::HandlerBase> own;
    Event::HandlerBase* to = nullptr;
    SimTime_t latency = 0;

    void send(SimTime_t delay, Event* event)
    {
        simulation.events.emplace(simulation.now + delay * 1000 + latency, std::make_pair(to, event));
    }
    void send(Event* event) { send(0, event); }
};

class Params
{
public:
    std::map<std::string, std::string> values;
    std::vector<std::string> array;

    template <typename T> T find(const std::string& name, T standard) const
    {
        auto found = values.find(name);
        if (found == values.end())
            return standard;
        if constexpr (std::is_same_v<T, std::string>)
            return found->second;
        else
            return std::stoull(found->second);
    }
    template <typename T> void find_array(const std::string&, std::vector<T>& into) const { into = array; }
};

class Output
{
public:
    template <typename... Arguments>
    [[noreturn]] void fatal(int, const char*, const char*, int code, const char* text, Arguments... arguments)
    {
        std::fprintf(stderr, text, arguments...);
        std::exit(code);
    }
};

class Component
{
public:
    explicit Component(ComponentId_t) {}
    virtual ~Component() = default;
    virtual void finish() {}
    std::map<std::string, std::unique_ptr<Link>> links;

protected:
    Link* configureLink(const std::string& name, Event::HandlerBase* handler)
    {
        links[name] = std::make_unique<Link>();
        links[name]->own.reset(handler);
        return links[name].get();
    }
    Link* configureSelfLink(const std::string& name, const std::string& base, Event::HandlerBase* handler)
    {
        Link* link = base == "1ns" ? configureLink(name, handler) : nullptr;
        link->to = handler;
        return link;
    }
    Output& getSimulationOutput() { return output; }
    std::string getName() const { return "drive"; }
    SimTime_t getCurrentSimTimeNano() const { return simulation.now / 1000; }

private:
    Output output;
};

} // namespace SST
