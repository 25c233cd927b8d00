import { cpus, totalmem } from "node:os";

/** One figure: medians of our side and of a peer from the same run, in turn, and the goal as a ratio of the two. */
export interface BenchRow {
  readonly name: string;
  readonly unit: string;
  readonly ours: Spread;
  readonly peerName?: string;
  readonly peer?: Spread;
  /** What ours / peer (or ours alone) must be; as text for people. */
  readonly goal: string;
  /** Absent when there is nothing to compare with on this machine. */
  readonly isReached?: boolean;
  readonly note?: string;
}

export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
  readonly rounds: number;
}

export interface BenchTable {
  readonly area: string;
  readonly machine: string;
  readonly date: string;
  readonly rows: readonly BenchRow[];
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  const median = sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
  return { min: sorted[0] ?? Number.NaN, median, max: sorted.at(-1) ?? Number.NaN, rounds: sorted.length };
}

/** Runs the sides in turn, A B A B …, so that a drift of the machine hits all alike; one uncounted round first. */
export async function interleave(
  rounds: number,
  sides: Readonly<Record<string, () => Promise<number>>>,
): Promise<Readonly<Record<string, Spread>>> {
  const values: Record<string, number[]> = Object.fromEntries(Object.keys(sides).map((name) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (const [name, measure] of Object.entries(sides)) {
      const value = await measure();
      if (round >= 0) values[name]?.push(value);
    }
  }
  return Object.fromEntries(Object.entries(values).map(([name, list]) => [name, spreadOf(list)]));
}

export function describeMachine(): string {
  const [cpu] = cpus();
  return `${cpus().length} × ${cpu?.model.trim() ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`;
}

export function createTable(area: string, rows: readonly BenchRow[]): BenchTable {
  return { area, machine: describeMachine(), date: new Date().toISOString().slice(0, 10), rows };
}

function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en-US");
  return value.toPrecision(3);
}

function formatSpread(spread: Spread | undefined): string {
  if (spread === undefined) return "–";
  return `${formatNumber(spread.median)} (${formatNumber(spread.min)}–${formatNumber(spread.max)})`;
}

export function formatTable(table: BenchTable): string {
  const head = ["figure", "unit", "ours", "peer", "ratio", "goal", "reached"];
  const rows = table.rows.map((row) => [
    row.note === undefined ? row.name : `${row.name} [${row.note}]`,
    row.unit,
    formatSpread(row.ours),
    row.peerName === undefined ? "–" : `${row.peerName} ${formatSpread(row.peer)}`,
    row.peer === undefined ? "–" : formatNumber(row.ours.median / row.peer.median),
    row.goal,
    row.isReached === undefined ? "–" : row.isReached ? "yes" : "NO",
  ]);
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  return [`${table.area} — ${table.machine}, ${table.date}`, line(head), ...rows.map(line), ""].join("\n");
}
