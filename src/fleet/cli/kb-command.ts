/** `fleetscope kb`: the facts that findings rest on, to look at and to check. */
import type { Command, CommandContext, OptionSpec } from "../../platform/cli/command.ts";
import { formatTable } from "../../platform/cli/table.ts";
import { fleetError } from "../errors.ts";
import type { ApiLifecycle, KnowledgeBase } from "../model/knowledge-base.ts";
import { findContradictions } from "../model/knowledge-base-contradictions.ts";
import { apiLabel } from "../model/knowledge-base-index.ts";

export interface KnowledgeBasePorts {
  readonly loadKnowledgeBase: (registryFolder: string | undefined) => KnowledgeBase;
}

const sections = ["apis", "addons", "facts", "calendars", "migrations"] as const;
type Section = (typeof sections)[number];

const registryOption: OptionSpec = {
  kind: "string",
  valueName: "DIR",
  description: "Folder of JSON files that add facts to the built-in ones",
};
const jsonOption: OptionSpec = { kind: "boolean", description: "Print JSON" };

export function createKnowledgeBaseCommand(ports: KnowledgeBasePorts): Command {
  return {
    name: "kb",
    summary: "Look at the facts that findings rest on",
    examples: [{ command: "fleetscope kb list", description: "What is known" }],
    subcommands: [createList(ports), createShow(ports), createCheck(ports)],
  };
}

function createList({ loadKnowledgeBase }: KnowledgeBasePorts): Command {
  return {
    name: "list",
    failureExitCode: 1,
    summary: "List the facts of a section",
    positionals: [{ name: "section", description: "Which facts; an overview without it", choices: sections }],
    options: { "registry-dir": registryOption, json: jsonOption },
    examples: [{ command: "fleetscope kb list addons", description: "Add-ons with their Kubernetes ranges" }],
    async run(args, context) {
      const knowledgeBase = loadKnowledgeBase(args.string("registry-dir"));
      const section = sections.find((candidate) => candidate === args.string("section"));
      const text = args.boolean("json")
        ? `${JSON.stringify(section === undefined ? overviewOf(knowledgeBase) : rowsOf(knowledgeBase, section), null, 2)}\n`
        : section === undefined
          ? formatOverview(context, knowledgeBase)
          : formatSection(context, knowledgeBase, section);
      await context.terminal.write(text);
      return 0;
    },
  };
}

function createShow({ loadKnowledgeBase }: KnowledgeBasePorts): Command {
  return {
    name: "show",
    failureExitCode: 1,
    summary: "Show one fact with its sources",
    positionals: [
      {
        name: "name",
        isRequired: true,
        description: "An add-on, a flag, a gate, or an API such as policy/v1beta1/PodDisruptionBudget",
      },
    ],
    options: { "registry-dir": registryOption },
    examples: [{ command: "fleetscope kb show cert-manager", description: "Ranges and cycles of an add-on" }],
    async run(args, context) {
      const name = args.requiredString("name");
      const found = findRows(loadKnowledgeBase(args.string("registry-dir")), name);
      if (found.length === 0) {
        throw fleetError(
          "scan_input_invalid",
          `Cannot show "${name}": no fact has this name; "fleetscope kb list" names the sections`,
        );
      }
      await context.terminal.write(found.map((row) => `${JSON.stringify(row, null, 2)}\n`).join(""));
      return 0;
    },
  };
}

function createCheck({ loadKnowledgeBase }: KnowledgeBasePorts): Command {
  return {
    name: "check",
    failureExitCode: 1,
    summary: "Check the facts for contradictions, those of a registry folder included",
    examples: [
      { command: "fleetscope kb check --registry-dir ./facts", description: "Before a folder of own facts is used" },
    ],
    options: { "registry-dir": registryOption },
    exitCodes: { 0: "no fact contradicts another", 1: "some do; all are listed" },
    async run(args, context) {
      const knowledgeBase = loadKnowledgeBase(args.string("registry-dir"));
      const problems = findContradictions(knowledgeBase);
      for (const problem of problems) context.terminal.writeError(`fleetscope: ${problem}\n`);
      if (problems.length > 0) return 1;
      await context.terminal.write(`${knowledgeBase.version}: ${countRows(knowledgeBase)} facts, no contradiction\n`);
      return 0;
    },
  };
}

function overviewOf(knowledgeBase: KnowledgeBase): object {
  const { version, date, horizon, apis, addOns, facts, calendars, migrations } = knowledgeBase;
  return {
    version,
    date,
    horizon,
    apis: apis.length,
    addons: addOns.length,
    facts: facts.length,
    calendars: calendars.length,
    migrations: migrations.length,
  };
}

function formatOverview({ terminal }: CommandContext, knowledgeBase: KnowledgeBase): string {
  const rows = Object.entries(overviewOf(knowledgeBase)).map(([name, value]) => [name, String(value)]);
  return formatTable(terminal, [{ title: "FACT" }, { title: "VALUE" }], rows);
}

function countRows(knowledgeBase: KnowledgeBase): number {
  return sections.reduce((sum, section) => sum + rowsOf(knowledgeBase, section).length, 0);
}

function rowsOf(knowledgeBase: KnowledgeBase, section: Section): readonly object[] {
  return section === "addons" ? knowledgeBase.addOns : knowledgeBase[section];
}

function formatSection({ terminal }: CommandContext, knowledgeBase: KnowledgeBase, section: Section): string {
  const table = (titles: readonly string[], rows: readonly (readonly string[])[]): string =>
    formatTable(
      terminal,
      titles.map((title) => ({ title })),
      rows,
    );
  switch (section) {
    case "apis":
      return table(["API", "COMPONENT", "DEPRECATED", "REMOVED", "REPLACEMENT"], knowledgeBase.apis.map(apiCells));
    case "addons":
      return table(
        ["ID", "NAME", "RANGES", "CYCLES", "RETIRED"],
        knowledgeBase.addOns.map(({ id, name, compatibility, cycles, retired }) => [
          id,
          name,
          String(compatibility.length),
          String(cycles.length),
          retired?.date ?? "-",
        ]),
      );
    case "facts":
      return table(
        ["KIND", "NAME", "SOURCES"],
        knowledgeBase.facts.map((fact) => [fact.kind, factName(fact), fact.citations.join(" ")]),
      );
    case "calendars":
      return table(
        ["ID", "NAME", "MINORS"],
        knowledgeBase.calendars.map(({ id, name, cycles }) => [id, name, String(cycles.length)]),
      );
    case "migrations":
      return table(
        ["FROM", "TO", "CHANGE"],
        knowledgeBase.migrations.map(({ from, to, change }) => [
          apiLabel(from),
          to === undefined ? "-" : apiLabel(to),
          change,
        ]),
      );
  }
}

function apiCells(row: ApiLifecycle): string[] {
  const { component, deprecated, removed, gone, unserved, replacement } = row;
  return [
    apiLabel(row),
    component,
    deprecated ?? "-",
    removed ?? unserved ?? gone ?? "-",
    replacement === undefined ? "-" : apiLabel(replacement),
  ];
}

function factName(fact: KnowledgeBase["facts"][number]): string {
  if ("name" in fact) return fact.name;
  return "flag" in fact ? `${fact.flag}=${fact.value}` : `${fact.group}/${fact.version}`;
}

/** By name, whatever the section; letters of either case. */
function findRows(knowledgeBase: KnowledgeBase, name: string): readonly object[] {
  const wanted = name.toLowerCase();
  const isWanted = (...names: readonly string[]): boolean =>
    names.some((candidate) => candidate.toLowerCase() === wanted);
  return [
    ...knowledgeBase.addOns.filter(({ id, name: title }) => isWanted(id, title)),
    ...knowledgeBase.apis.filter((row) =>
      isWanted(apiLabel(row), `${row.group === "" ? "" : `${row.group}/`}${row.version}/${row.kind}`, row.kind),
    ),
    ...knowledgeBase.facts.filter((fact) => isWanted(factName(fact))),
    ...knowledgeBase.calendars.filter(({ id }) => isWanted(id)),
  ];
}
