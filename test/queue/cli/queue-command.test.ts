import t from "tap";
import { runCli } from "../../../src/platform/cli/run-cli.ts";
import { queueCommand } from "../../../src/queue/module.ts";
import { createFakeContext, createFakeTerminal } from "../../support/fake-terminal.ts";
import { startServerFixture } from "../../support/queue/server-fixture.ts";

const fixture = await startServerFixture();
t.teardown(() => fixture[Symbol.asyncDispose]());
const options = {
  programName: "slipway",
  table: [{ name: "queue", summary: "", isCallName: false, load: async () => queueCommand }],
  banner: "",
  examples: [],
};

async function run(words: string, input?: readonly (string | Uint8Array)[], signal?: AbortSignal) {
  const terminal = createFakeTerminal(input === undefined ? {} : { input });
  const env = { QUEUE_SERVER: fixture.server.httpUrl };
  const context = createFakeContext({ terminal, env, ...(signal === undefined ? {} : { signal }) });
  const args = ["queue", ...words.split(" ").filter((word) => word !== "")];
  const exitCode = await runCli(options, { args, isLinked: false }, context);
  return { exitCode, output: terminal.output(), errors: terminal.errorOutput() };
}

t.test("topics: create, list, get, set, delete", async (t) => {
  t.equal((await run("topics create orders --partitions 2 --set max_deliveries=5")).exitCode, 0);
  const list = await run("topics");
  t.match(list.output, /^TOPIC +PARTITIONS +MESSAGES +SIZE +KEPT$/m);
  t.match(list.output, /^orders +2 +0 +0 B +168 h$/m);
  const json = JSON.parse((await run("topics list --json")).output);
  t.equal(json[0].max_deliveries, 5);
  t.match((await run("topics get orders")).output, /^max_deliveries +5$/m);
  t.equal(JSON.parse((await run("topics set orders --partitions 3 --json")).output).partitions, 3);
  const lower = await run("topics set orders --partitions 1");
  t.equal(lower.exitCode, 64);
  t.match(lower.errors, /^slipway queue: Cannot /);
  const twice = await run("topics create orders");
  t.equal(twice.exitCode, 1);
  await run("topics create gone");
  t.match((await run("topics delete gone")).output, /^deleted gone$/m);
  t.equal((await run("topics get gone")).exitCode, 1);
  t.equal((await run("topics create x --set nonsense")).exitCode, 64);
});

t.test("publish one message with all its fields, consume it", async (t) => {
  await run("topics create one --partitions 1");
  const published = await run("publish one hello --key k --header a=1 --header b=x=y --priority high");
  t.equal(published.output, "one/0@0\n");
  const { output } = await run("consume one --json");
  t.match(JSON.parse(output), { key: "k", value: "hello", headers: { a: "1", b: "x=y" }, priority: "high" });
  t.match((await run("consume one")).output, /^\S+Z 0@0 k hello$/m);
  t.equal((await run("consume one --value-only")).output, "hello\n");
});

t.test("publish from standard input: whole, lines, JSON lines", async (t) => {
  await run("topics create input --partitions 1");
  t.equal((await run("publish input", ["two\nlines"])).exitCode, 0);
  t.match((await run("publish input --lines", ["a\r\nb", "c\n\nd"])).errors, /published 3 messages/);
  const objects = '{"value":"x","key":"k1"}\n{"value":{"n":1},"priority":"low"}\n';
  const lines = (await run("publish input --json-lines --json", [objects])).output.trim().split("\n");
  t.strictSame(
    lines.map((line) => JSON.parse(line).offset),
    [4, 5],
  );
  await run("publish input", [Uint8Array.from([0xff, 0xfe])]);
  const values = (await run("consume input --value-only")).output.split("\n");
  t.strictSame(values.slice(0, 5), ["two", "lines", "a", "bc", "d"]);
  t.equal(values[6], '{"n":1}');
  t.equal(values[7], "//4=", "bytes come in base64");
  t.equal((await run("publish input --json-lines", ["[1]\n"])).exitCode, 64);
  t.equal((await run("publish input value --lines", ["a"])).exitCode, 64);
  t.equal((await run("publish input")).exitCode, 64, "nothing to publish on a terminal");
});

t.test("publish --quiet says nothing, errors have their exit code", async (t) => {
  t.strictSame(await run("publish one x --quiet"), { exitCode: 0, output: "", errors: "" });
  const missing = await run("publish nope x");
  t.equal(missing.exitCode, 1);
  t.match(missing.errors, /nope/);
  t.equal((await run("publish one x --priority urgent")).exitCode, 64);
});

t.test("consume: from, partition, max; --follow ends with the signal", async (t) => {
  await run("topics create log --partitions 2");
  await run("publish log --json-lines", [
    '{"value":"a","partition":0}\n{"value":"b","partition":0}\n{"value":"c","partition":1}\n',
  ]);
  const consume = async (words: string) => (await run(`consume log --value-only ${words}`)).output;
  t.equal((await consume("")).split("\n").sort().join(""), "abc");
  t.equal(await consume("--partition 0 --from 1"), "b\n");
  t.equal(await consume("--partition 0 --max 1"), "a\n");
  t.equal(await consume("--from latest"), "");
  t.equal((await run("consume log --from middle")).exitCode, 64);
  t.equal((await run("consume log --ack")).exitCode, 64, "nothing to acknowledge without a group");
  const stop = new AbortController();
  const following = run("consume log --partition 1 --follow --value-only", undefined, stop.signal);
  setTimeout(() => stop.abort(new Error("stopped")), 300);
  t.strictSame(await following, { exitCode: 0, output: "c\n", errors: "" });
});

t.test("a broker that is not there: what to do, exit code 75", async (t) => {
  const terminal = createFakeTerminal();
  const context = createFakeContext({ terminal, env: { QUEUE_SERVER: "http://127.0.0.1:59999" } });
  t.equal(await runCli(options, { args: ["queue", "topics"], isLinked: false }, context), 75);
  t.match(
    terminal.errorOutput(),
    /Cannot reach the broker at http:\/\/127\.0\.0\.1:59999: ECONNREFUSED; start it with/,
  );
});

t.test("serve refuses a bad environment with a numbered list and exit code 2", async (t) => {
  const terminal = createFakeTerminal();
  const env = { QUEUE_LISTENERS_HTTP: "nowhere", QUEUE_TYPO: "1" };
  const exitCode = await runCli(
    options,
    { args: ["queue", "serve"], isLinked: false },
    createFakeContext({ terminal, env }),
  );
  t.equal(exitCode, 2);
  t.match(
    terminal.errorOutput(),
    /configuration validation failed:\n {2}1\. .*QUEUE_TYPO.*\n {2}2\. .*QUEUE_LISTENERS_HTTP/,
  );
});
