import type { AppendOperation, History, ReadOperation } from "./history.ts";

/**
 * Looks for anomalies in a history. Every value is appended under one sequence number, so a log may hold it once; the
 * offset of a value is its place in the partition.
 */
export type AnomalyKind =
  | "lost-write"
  | "duplicate"
  | "inconsistent-offsets"
  | "aborted-read"
  | "phantom"
  | "stale-read"
  | "nonmonotonic-poll"
  | "nonmonotonic-send"
  | "diverged"
  | "two-leaders"
  | "crash"
  | "no-progress";

export interface Anomaly {
  readonly kind: AnomalyKind;
  readonly text: string;
}

export function checkHistory(history: History): readonly Anomaly[] {
  const appends = history.operations.filter((operation) => operation.kind === "append");
  const reads = history.operations.filter((operation) => operation.kind === "read");
  const seen = collectOffsets(history, appends, reads);
  return [
    ...seen.anomalies,
    ...findDuplicates(history),
    ...findLost(history, appends),
    ...findInvented(appends, seen.values),
    ...findStaleReads(appends, reads),
    ...findBackwardPolls(reads),
    ...findBackwardSends(appends),
  ];
}

interface SeenOffsets {
  readonly anomalies: Anomaly[];
  /** Every value that was read. */
  readonly values: Set<string>;
}

/** One value per place, whoever looks: acknowledgements, reads and the logs at the end. */
function collectOffsets(
  history: History,
  appends: readonly AppendOperation[],
  reads: readonly ReadOperation[],
): SeenOffsets {
  const places = new Map<string, string>();
  const anomalies: Anomaly[] = [];
  const values = new Set<string>();
  const note = (partition: string, offset: number, value: string, by: string): void => {
    const place = `${partition}/${offset}`;
    const known = places.get(place);
    if (known === undefined) places.set(place, value);
    else if (known !== value) {
      anomalies.push({ kind: "inconsistent-offsets", text: `${place} is '${known}' and for ${by} '${value}'` });
    }
  };
  for (const append of appends) {
    if (append.outcome === "acknowledged" && append.offset !== undefined && append.offset >= 0) {
      note(append.partition, append.offset, append.value, append.producer);
    }
  }
  for (const read of reads) {
    for (const [ordinal, value] of read.values.entries()) {
      values.add(value);
      note(read.partition, read.fromOffset + ordinal, value, read.reader);
    }
  }
  for (const log of history.finalLogs) {
    for (const [offset, value] of log.values.entries()) {
      values.add(value);
      note(log.partition, offset, value, `the final log of ${log.node}`);
    }
  }
  return { anomalies, values };
}

function findDuplicates(history: History): readonly Anomaly[] {
  const anomalies: Anomaly[] = [];
  for (const { node, partition, values } of history.finalLogs) {
    const known = new Set<string>();
    for (const value of values) {
      if (known.has(value))
        anomalies.push({ kind: "duplicate", text: `'${value}' is twice in ${partition} of ${node}` });
      known.add(value);
    }
  }
  return anomalies;
}

function findLost(history: History, appends: readonly AppendOperation[]): readonly Anomaly[] {
  const anomalies: Anomaly[] = [];
  for (const { node, partition, values } of history.finalLogs) {
    const held = new Set(values);
    for (const append of appends) {
      if (append.partition !== partition || append.outcome !== "acknowledged" || held.has(append.value)) continue;
      anomalies.push({
        kind: "lost-write",
        text: `'${append.value}' was acknowledged at ${append.endMs.toFixed(1)} ms and is not in ${partition} of ${node}`,
      });
    }
  }
  return anomalies;
}

/** Values that nobody sent, and values whose append surely failed. */
function findInvented(appends: readonly AppendOperation[], values: ReadonlySet<string>): readonly Anomaly[] {
  const anomalies: Anomaly[] = [];
  const byValue = new Map(appends.map((append) => [append.value, append]));
  for (const value of values) {
    const append = byValue.get(value);
    if (append === undefined) anomalies.push({ kind: "phantom", text: `'${value}' was never sent` });
    else if (append.outcome === "failed") {
      anomalies.push({ kind: "aborted-read", text: `'${value}' was read although its append failed` });
    }
  }
  return anomalies;
}

/** A fresh read sees at least what had been acknowledged, or read, before it began. */
function findStaleReads(appends: readonly AppendOperation[], reads: readonly ReadOperation[]): readonly Anomaly[] {
  const marks: {
    readonly partition: string;
    readonly endMs: number;
    readonly endOffset: number;
    readonly by: string;
  }[] = [];
  for (const append of appends) {
    if (append.outcome !== "acknowledged" || append.offset === undefined) continue;
    marks.push({ partition: append.partition, endMs: append.endMs, endOffset: append.offset + 1, by: append.value });
  }
  for (const read of reads) {
    if (!read.isFresh) continue;
    const endOffset = read.fromOffset + read.values.length;
    marks.push({ partition: read.partition, endMs: read.endMs, endOffset, by: read.reader });
  }
  marks.sort((a, b) => a.endMs - b.endMs);
  const anomalies: Anomaly[] = [];
  const highest = new Map<string, { endOffset: number; by: string }>();
  let next = 0;
  for (const read of reads.filter(({ isFresh }) => isFresh).sort((a, b) => a.startMs - b.startMs)) {
    for (; next < marks.length && (marks[next]?.endMs ?? 0) < read.startMs; next += 1) {
      const mark = marks[next];
      if (mark !== undefined && mark.endOffset > (highest.get(mark.partition)?.endOffset ?? 0)) {
        highest.set(mark.partition, mark);
      }
    }
    const before = highest.get(read.partition);
    const endOffset = read.fromOffset + read.values.length;
    if (before === undefined || before.endOffset <= endOffset) continue;
    const text = `${read.reader} saw ${read.partition} up to ${endOffset}, ${before.by} had ${before.endOffset} before`;
    anomalies.push({ kind: "stale-read", text });
  }
  return anomalies;
}

/** Fresh reads of one reader never go back. */
function findBackwardPolls(reads: readonly ReadOperation[]): readonly Anomaly[] {
  const anomalies: Anomaly[] = [];
  const last = new Map<string, number>();
  for (const read of reads) {
    if (!read.isFresh) continue;
    const key = `${read.reader} of ${read.partition}`;
    const endOffset = read.fromOffset + read.values.length;
    if (endOffset < (last.get(key) ?? 0)) {
      anomalies.push({ kind: "nonmonotonic-poll", text: `${key} went back from ${last.get(key)} to ${endOffset}` });
    }
    last.set(key, endOffset);
  }
  return anomalies;
}

/** What a producer sent later lies later. */
function findBackwardSends(appends: readonly AppendOperation[]): readonly Anomaly[] {
  const anomalies: Anomaly[] = [];
  const last = new Map<string, AppendOperation>();
  for (const append of [...appends].sort((a, b) => a.sequence - b.sequence)) {
    if (append.outcome !== "acknowledged" || append.offset === undefined || append.offset < 0) continue;
    const key = `${append.producer} in ${append.partition}`;
    const before = last.get(key);
    if (before?.offset !== undefined && before.offset >= append.offset) {
      anomalies.push({
        kind: "nonmonotonic-send",
        text: `${key}: '${before.value}' at ${before.offset}, then '${append.value}' at ${append.offset}`,
      });
    }
    last.set(key, append);
  }
  return anomalies;
}
