import t from "tap";
import type { Command, ParsedArguments } from "../../../src/platform/cli/command.ts";
import { createCompletionCommand } from "../../../src/platform/cli/completion.ts";
import { createConfigCommand } from "../../../src/platform/cli/config-command.ts";
import { type CliOptions, type CommandEntry, expandCallName, runCli } from "../../../src/platform/cli/run-cli.ts";
import { ConfigError } from "../../../src/platform/config/load-config.ts";
import { createErrorFactory } from "../../../src/platform/errors/domain-error.ts";
import { createFakeContext, createFakeTerminal } from "../../support/fake-terminal.ts";

const fail = createErrorFactory({ BRANCH_NOT_FOUND: { kind: "not_found" } });

interface Seen {
  args?: ParsedArguments;
}

function createTable(seen: Seen): readonly CommandEntry[] {
  const create: Command = {
    name: "create",
    summary: "Create a branch",
    positionals: [{ name: "name", description: "name of the branch", isRequired: true }],
    options: {
      from: { kind: "string", description: "source to branch from", valueName: "SOURCE" },
      depth: { kind: "integer", description: "how deep", default: 5 },
      tag: { kind: "string", description: "a tag", isRepeatable: true },
      mode: { kind: "string", description: "how", choices: ["fast", "safe"] },
      json: { kind: "boolean", description: "print JSON" },
      secret: { kind: "string", description: "not shown", isHidden: true },
    },
    examples: [{ command: "bsctl branch create pr-7 --from shop", description: "From a source" }],
    exitCodes: { 0: "created", 9: "special" },
    run: async (args) => {
      seen.args = args;
      return 9;
    },
  };
  const root: Command = {
    name: "bsctl",
    summary: "Postgres branches",
    subcommands: [
      { name: "branch", summary: "Branches", subcommands: [create] },
      {
        name: "missing",
        summary: "Fails",
        run: async () => {
          throw fail("BRANCH_NOT_FOUND", 'Cannot find branch "x": no such branch');
        },
      },
      {
        name: "crash",
        summary: "Crashes",
        run: async () => {
          throw new Error("kaputt");
        },
      },
    ],
  };
  const configured: Command = {
    name: "daemon",
    summary: "A daemon",
    failureExitCode: 1,
    options: { quick: { kind: "boolean", description: "quick" } },
    effectiveConfig: (_flags, context) => {
      if (context.env["BAD"]) throw new ConfigError(["BAD is set", "BAD must not be set"]);
      return [
        { name: "PORT", value: "80", source: "default" },
        { name: "TOKEN", value: "[set]", source: "environment" },
      ];
    },
    run: async () => {
      throw new ConfigError(["one thing"]);
    },
  };
  const table: CommandEntry[] = [
    { name: "bsctl", summary: "Postgres branches", isCallName: true, load: async () => root },
    { name: "daemon", summary: "A daemon", isCallName: false, load: async () => configured },
    { name: "config", summary: "Configuration", isCallName: false, load: async () => createConfigCommand(() => table) },
    {
      name: "completion",
      summary: "Completion",
      isCallName: false,
      load: async () => createCompletionCommand("slipway", () => table),
    },
  ];
  return table;
}

async function call(line: string, options: { isLinked?: boolean; env?: Record<string, string> } = {}) {
  const seen: Seen = {};
  const cli: CliOptions = { programName: "slipway", table: createTable(seen), banner: "slipway: tools", examples: [] };
  const terminal = createFakeTerminal();
  const context = createFakeContext({ terminal, env: options.env ?? {} });
  const args = line.split(" ").filter((word) => word !== "");
  const exitCode = await runCli(cli, { args, isLinked: options.isLinked ?? false }, context);
  return { exitCode, output: terminal.output(), errorOutput: terminal.errorOutput(), args: seen.args };
}

t.test("runCli() passes parsed arguments and the exit code", async (t) => {
  const { exitCode, args } = await call(
    "bsctl branch create pr-7 --from shop --tag a --tag b --depth 7 --json --mode fast",
  );
  t.equal(exitCode, 9);
  t.equal(args?.requiredString("name"), "pr-7");
  t.equal(args?.string("from"), "shop");
  t.strictSame(args?.strings("tag"), ["a", "b"]);
  t.equal(args?.integer("depth"), 7);
  t.equal(args?.boolean("json"), true);
  t.equal((await call("bsctl branch create x")).args?.integer("depth"), 5, "default");
  t.equal((await call("bsctl branch create 007")).args?.string("name"), "007", "numbers stay text");
  t.equal((await call("bsctl branch create x")).args?.optionalBoolean("json"), undefined);
});

t.test("runCli() explains wrong command lines and exits 64", async (t) => {
  const cases = [
    { line: "bsctl branch create", expected: "Cannot run without <name> (name of the branch)" },
    { line: "bsctl branch create x --fron shop", expected: "did you mean --from" },
    { line: "bsctl brnch", expected: 'did you mean "branch"' },
    { line: "bsctl branch create x --depth much", expected: 'Cannot use --depth "much": it takes a whole number' },
    { line: "bsctl branch create x --depth 1.5", expected: "it takes a whole number" },
    { line: "bsctl branch create x --from", expected: "a value must follow" },
    { line: "bsctl branch create x --from a --from b", expected: "Cannot use --from more than once" },
    { line: "bsctl branch create x --mode slow", expected: "Invalid values" },
    { line: "bsctl branch create x y", expected: '"y" is no option or argument here' },
    { line: "bsctl branch", expected: 'Cannot run "slipway bsctl branch" alone' },
    { line: "bsclt", expected: 'did you mean "bsctl"' },
    { line: "config check nothing", expected: 'Cannot check "nothing"' },
  ];
  for (const { line, expected } of cases) {
    const { exitCode, errorOutput, output } = await call(line);
    t.equal(exitCode, 64, line);
    t.match(errorOutput, expected, line);
    t.equal(output, "", `${line}: nothing on standard output`);
  }
  t.match(
    (await call("bsctl branch create x --fron shop")).errorOutput,
    'Run "slipway bsctl branch create --help" for usage',
  );
});

t.test("runCli() turns failures into messages and exit codes", async (t) => {
  const missing = await call("bsctl missing");
  t.equal(missing.exitCode, 1);
  t.equal(missing.errorOutput, 'slipway bsctl: Cannot find branch "x": no such branch\n');
  const crash = await call("bsctl crash");
  t.equal(crash.exitCode, 70);
  t.equal(crash.errorOutput, "slipway bsctl: kaputt\n", "no stack without SLIPWAY_DEBUG");
  t.match((await call("bsctl crash", { env: { SLIPWAY_DEBUG: "1" } })).errorOutput, "at ");
  const config = await call("daemon");
  t.equal(config.exitCode, 1, "the command's own failure exit code wins");
  t.match(config.errorOutput, "1. one thing");
});

t.test("runCli() prints help, version and the overview", async (t) => {
  const overview = await call("--help");
  t.equal(overview.exitCode, 0);
  t.match(overview.output, "Postgres branches");
  t.equal((await call("")).exitCode, 64);
  t.equal((await call("--version")).output, "slipway 0.0.0-test\n");
  const help = await call("bsctl branch create --help");
  t.equal(help.exitCode, 0);
  for (const part of [
    "Usage: slipway bsctl branch create <name> [options]",
    "SOURCE: source to branch from",
    "[default: 5]",
    "bsctl branch create pr-7 --from shop",
    "9  special",
  ]) {
    t.match(help.output, part);
  }
  t.notMatch(help.output, "not shown");
  t.match((await call("branch --help", { isLinked: true })).errorOutput, "is no command");
});

t.test("expandCallName() turns the name of a link into the command", async (t) => {
  const table = createTable({});
  t.strictSame(expandCallName(table, "/usr/bin/bsctl", ["ls"]), { isLinked: true, args: ["bsctl", "ls"] });
  t.strictSame(expandCallName(table, "slipway", ["ls"]), { isLinked: false, args: ["ls"] });
  t.strictSame(
    expandCallName(table, "config", ["ls"]),
    { isLinked: false, args: ["ls"] },
    "not every command is a name",
  );
  const linked = await call("bsctl branch create --help", { isLinked: true });
  t.match(linked.output, "Usage: bsctl branch create <name>");
});

t.test("completion lists commands, options, choices and prints scripts", async (t) => {
  const cases = [
    { line: "--complete slipway bs", expected: ["bsctl"] },
    { line: "--complete bsctl br", expected: ["branch"] },
    { line: "--complete slipway bsctl branch create --fr", expected: ["--from"] },
    { line: "--complete bsctl branch create x --mode f", expected: ["fast"] },
    { line: "--complete bsctl branch create --secr", expected: [] },
    { line: "--complete completion z", expected: ["zsh"] },
    { line: "--complete unknown x", expected: [] },
  ];
  for (const { line, expected } of cases) {
    t.strictSame((await call(line)).output.split("\n").slice(0, -1), expected, line);
  }
  for (const shell of ["bash", "zsh", "fish"]) {
    const { exitCode, output } = await call(`completion ${shell}`);
    t.equal(exitCode, 0);
    t.match(output, "slipway --complete");
    t.match(output, "bsctl");
  }
  t.equal((await call("completion tcsh")).exitCode, 64);
});

t.test("config check prints settings or every problem", async (t) => {
  const good = await call("config check daemon");
  t.equal(good.exitCode, 0);
  t.match(good.output, /PORT +80 +default/);
  t.strictSame(JSON.parse((await call("config check daemon --json")).output), {
    PORT: { value: "80", source: "default" },
    TOKEN: { value: "[set]", source: "environment" },
  });
  const bad = await call("config check daemon", { env: { BAD: "1" } });
  t.equal(bad.exitCode, 2);
  t.match(bad.errorOutput, "  1. BAD is set\n  2. BAD must not be set");
});
