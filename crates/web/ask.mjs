// Asks the module what stands on standard input, a question a line, and prints each answer's text; "play" steps to the
// end of the run: node ask.mjs FOLDER < questions
import { readFileSync } from "node:fs";

const folder = process.argv[2];
// Its name does not say that it is a module: as text it is one.
const { start } = await import(`data:text/javascript,${encodeURIComponent(readFileSync(`${folder}/lab.js`, "utf8"))}`);
const text = await start(await WebAssembly.compile(readFileSync(`${folder}/lab.wasm`)));

function play() {
  for (;;) {
    const answer = text({ do: "step", requests: 1 << 20 }), { ok } = JSON.parse(answer);
    if (!ok || ok.ended) return answer;
  }
}

process.on("uncaughtException", ({ message }) => {
  console.error(message);
  process.exit(1);
});
for (const question of readFileSync(0, "utf8").split("\n").filter(Boolean))
  console.log(JSON.parse(question).do === "play" ? play() : text(question));
