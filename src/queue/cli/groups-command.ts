import type { Command, CommandContext, ParsedArguments } from "../../platform/cli/command.ts";
import { formatTable } from "../../platform/cli/table.ts";
import { clientOptions, createClient, printJson } from "./client-options.ts";

interface GroupBody {
  readonly id: string;
  readonly state: string;
  readonly mode: string;
  readonly generation: number;
  readonly topics: readonly string[];
  readonly members: readonly {
    readonly member_id: string;
    readonly state: string;
    readonly assigned_partitions: Readonly<Record<string, readonly number[]>>;
    readonly in_flight: number;
    readonly last_heartbeat: string;
  }[];
  readonly offsets: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly committed: number | null;
            readonly latest: number;
            readonly lag: number;
            readonly in_flight: number;
          }
        >
      >
    >
  >;
}

interface LagRow {
  readonly group: string;
  readonly topic: string;
  readonly partition: number;
  readonly committed: number | null;
  readonly latest: number;
  readonly lag: number;
  readonly in_flight: number;
}

const groupPositional = { name: "group", description: "name of the group", isRequired: true } as const;

const list: Command = {
  name: "list",
  aliases: ["ls"],
  summary: "List consumer groups",
  options: clientOptions,
  examples: [{ command: "slipway queue groups list", description: "Groups with state, members and lag" }],
  run: listGroups,
};

const get: Command = {
  name: "get",
  summary: "Describe a group: members, partitions, lag",
  positionals: [groupPositional],
  options: clientOptions,
  examples: [{ command: "slipway queue groups get billing", description: "Who has which partitions" }],
  async run(args, context) {
    const group = await createClient(args, context).get<GroupBody>(pathOf(args));
    if (args.boolean("json")) {
      await printJson(context, group);
      return 0;
    }
    const rows = group.members.map((member) => [
      member.member_id,
      member.state,
      formatPartitions(member.assigned_partitions),
      String(member.in_flight),
      member.last_heartbeat,
    ]);
    const columns = ["MEMBER", "STATE", "PARTITIONS", "IN FLIGHT", "LAST HEARTBEAT"].map((title) => ({ title }));
    await context.terminal.write(
      `${group.id}: ${group.state}, mode ${group.mode}, generation ${group.generation}\n\n` +
        `${formatTable(context.terminal, columns, rows)}\n${formatLag(context, lagRows(group))}`,
    );
    return 0;
  },
};

const reset: Command = {
  name: "reset",
  summary: "Move a group in a topic",
  positionals: [groupPositional, { name: "topic", description: "name of the topic", isRequired: true }],
  options: {
    ...clientOptions,
    to: { kind: "string", valueName: "WHERE", description: "earliest, latest, an offset or a time", isRequired: true },
    partition: { kind: "integer", description: "only this one; needed with an offset" },
    "dry-run": { kind: "boolean", description: "only say what would change" },
  },
  examples: [
    { command: "slipway queue groups reset billing orders --to earliest", description: "Everything once more" },
    { command: "slipway queue groups reset billing orders --to 2026-11-01T00:00:00Z", description: "From a time on" },
  ],
  run: resetGroup,
};

const remove: Command = {
  name: "delete",
  aliases: ["rm"],
  summary: "Delete a group with its offsets",
  positionals: [groupPositional],
  options: { ...clientOptions, force: { kind: "boolean", description: "even with members" } },
  examples: [{ command: "slipway queue groups delete billing", description: "Its offsets are gone" }],
  async run(args, context) {
    const result = await createClient(args, context).delete(pathOf(args), { force: args.boolean("force") });
    if (args.boolean("json")) await printJson(context, result);
    else await context.terminal.write(`deleted ${args.requiredString("group")}\n`);
    return 0;
  },
};

const drain = memberCommand("drain", "Deliver nothing more to a member");
const undrain = memberCommand("undrain", "Deliver to a drained member again");

export const groupsCommand: Command = {
  name: "groups",
  summary: "List, describe, move, drain and delete consumer groups",
  options: clientOptions,
  subcommands: [list, get, reset, drain, undrain, remove],
  examples: [{ command: "slipway queue groups", description: "List groups" }],
  run: listGroups,
};

export const lagCommand: Command = {
  name: "lag",
  summary: "How far groups are behind",
  positionals: [{ name: "group", description: "only this one" }],
  options: clientOptions,
  examples: [{ command: "slipway queue lag billing", description: "Lag by partition" }],
  async run(args, context) {
    const client = createClient(args, context);
    const name = args.string("group");
    const rows: LagRow[] = [];
    if (name !== undefined) rows.push(...lagRows(await client.get<GroupBody>(`/groups/${encodeURIComponent(name)}`)));
    else for await (const group of client.list<GroupBody>("/groups")) rows.push(...lagRows(group));
    if (args.boolean("json")) await printJson(context, rows);
    else await context.terminal.write(formatLag(context, rows));
    return 0;
  },
};

function memberCommand(name: "drain" | "undrain", summary: string): Command {
  return {
    name,
    summary,
    positionals: [groupPositional, { name: "member", description: "id of the member", isRequired: true }],
    options: clientOptions,
    examples: [{ command: `slipway queue groups ${name} billing worker-1`, description: summary }],
    async run(args, context) {
      const path = `${pathOf(args)}/members/${encodeURIComponent(args.requiredString("member"))}/${name}`;
      const result = await createClient(args, context).post<{ status: string; in_flight: number }>(path);
      if (args.boolean("json")) await printJson(context, result);
      else await context.terminal.write(`${result.status}, ${result.in_flight} in flight\n`);
      return 0;
    },
  };
}

async function listGroups(args: ParsedArguments, context: CommandContext): Promise<number> {
  const groups: GroupBody[] = [];
  for await (const group of createClient(args, context).list<GroupBody>("/groups")) groups.push(group);
  if (args.boolean("json")) {
    await printJson(context, groups);
    return 0;
  }
  const rows = groups.map((group) => [
    group.id,
    group.state,
    group.mode,
    String(group.members.length),
    group.topics.join(","),
    String(lagRows(group).reduce((sum, row) => sum + row.lag, 0)),
  ]);
  const columns = ["GROUP", "STATE", "MODE", "MEMBERS", "TOPICS", "LAG"].map((title) => ({ title }));
  await context.terminal.write(formatTable(context.terminal, columns, rows));
  return 0;
}

async function resetGroup(args: ParsedArguments, context: CommandContext): Promise<number> {
  const to = args.requiredString("to");
  const target =
    to === "earliest" || to === "latest" ? { to } : /^\d+$/.test(to) ? { offset: Number(to) } : { to_timestamp: to };
  const body = await createClient(args, context).post<{
    readonly results: readonly { partition: number; old_offset: number | null; new_offset: number }[];
  }>(`${pathOf(args)}/offsets/reset`, {
    topic: args.requiredString("topic"),
    ...target,
    partition: args.integer("partition"),
    dry_run: args.boolean("dry-run"),
  });
  if (args.boolean("json")) {
    await printJson(context, body);
    return 0;
  }
  const rows = body.results.map((row) => [
    String(row.partition),
    String(row.old_offset ?? "-"),
    String(row.new_offset),
  ]);
  const columns = ["PARTITION", "OLD", "NEW"].map((title) => ({ title, isRightAligned: true }));
  await context.terminal.write(formatTable(context.terminal, columns, rows));
  return 0;
}

function lagRows(group: GroupBody): readonly LagRow[] {
  return Object.entries(group.offsets).flatMap(([topic, partitions]) =>
    Object.entries(partitions).map(([partition, progress]) => ({
      group: group.id,
      topic,
      partition: Number(partition),
      committed: progress.committed,
      latest: progress.latest,
      lag: progress.lag,
      in_flight: progress.in_flight,
    })),
  );
}

function formatLag(context: CommandContext, rows: readonly LagRow[]): string {
  const columns = [
    { title: "GROUP" },
    { title: "TOPIC" },
    ...["PARTITION", "COMMITTED", "LATEST", "LAG", "IN FLIGHT"].map((title) => ({ title, isRightAligned: true })),
  ];
  const cells = rows.map((row) => [
    row.group,
    row.topic,
    String(row.partition),
    String(row.committed ?? "-"),
    String(row.latest),
    String(row.lag),
    String(row.in_flight),
  ]);
  return formatTable(context.terminal, columns, cells);
}

function formatPartitions(assigned: Readonly<Record<string, readonly number[]>>): string {
  return Object.entries(assigned)
    .map(([topic, partitions]) => `${topic}:${partitions.join(",")}`)
    .join(" ");
}

function pathOf(args: ParsedArguments): string {
  return `/groups/${encodeURIComponent(args.requiredString("group"))}`;
}
