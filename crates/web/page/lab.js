// The laboratory's module: questions in, answers out. In a worker of the page, and in the tests.

const encoder = new TextEncoder(), decoder = new TextDecoder();

/** The module has stopped: another one must be started. */
export class Trap extends Error {}

/** Starts a module that has been compiled. */
export async function start(module) {
  const { room, ask, answer, fault, used_up, memory } = (await WebAssembly.instantiate(module, {})).exports;
  const read = (bytes) => {
    const at = answer();
    return decoder.decode(new Uint8Array(memory.buffer, at, bytes));
  };

  /** The answer's text; throws a Trap. */
  return function text(question) {
    const bytes = encoder.encode(typeof question === "string" ? question : JSON.stringify(question));
    try {
      // Memory grows, and with that its buffer is another one: it is asked for last.
      const at = room(bytes.length);
      new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
      return read(ask());
    } catch (trap) {
      const said = used_up()
        ? "the run needs more than 1 GiB of memory, which is what the page gives it\n  help: run it with `ssdlab run`, or choose a smaller drive or fewer requests"
        : `${read(fault()) || trap.message}\n  help: this is a fault of ssdlab; please report it with the link of the page`;
      throw new Trap(said);
    }
  };
}

/** The answer as an object; an error that it has is thrown. */
export function answered(text) {
  const { ok, error } = JSON.parse(text);
  if (error !== undefined) throw new Error(error);
  return ok;
}
