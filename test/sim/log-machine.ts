import { crc32 } from "node:zlib";
import type { Disk } from "../../src/platform/files/disk.ts";
import type { CommittedEntry } from "../../src/queue/service/ports.ts";
import type { AppendCommand, AppendResult, SimMachine } from "./sim-machine.ts";

/**
 * The smallest state machine that can go wrong in all the ways that matter: logs of values by partition, with
 * sequence numbers that make a repeated append one append.
 */
interface LogState {
  appliedIndex: number;
  partitions: string[][];
  producers: Record<string, { sequence: number; offset: number }>;
}

export interface LogMachineOptions {
  readonly shard: number;
  readonly disk: Disk;
  /** Waits in the node's own time: never ends when the node dies. */
  readonly wait: (delayMs: number) => Promise<void>;
  readonly onApply: (entry: CommittedEntry) => void;
  readonly onLeadership: (isLeader: boolean, term: number) => void;
  /** Broken rule: repeated appends are appended again. */
  readonly forgetsSequences: boolean;
}

export class LogMachine implements SimMachine {
  readonly #options: LogMachineOptions;
  readonly #path: string;
  #state: LogState = { appliedIndex: 0, partitions: [], producers: {} };

  constructor(options: LogMachineOptions) {
    this.#options = options;
    this.#path = `state/shard-${options.shard}`;
    this.#load();
  }

  values(partition: number, fromOffset: number): readonly string[] {
    return (this.#state.partitions[partition] ?? []).slice(fromOffset);
  }

  endOffset(partition: number): number {
    return this.#state.partitions[partition]?.length ?? 0;
  }

  encode(command: AppendCommand): readonly Uint8Array[] {
    return [Buffer.from(`${command.partition}|${command.producer}|${command.sequence}|${command.value}`)];
  }

  toAppendResult(result: unknown): AppendResult {
    return result as AppendResult;
  }

  apply(entry: CommittedEntry): AppendResult {
    this.#options.onApply(entry);
    this.#state.appliedIndex = entry.index;
    const [partitionText = "", producer = "", sequenceText = "", value = ""] = Buffer.from(
      entry.payload.buffer,
      entry.payload.byteOffset,
      entry.payload.length,
    )
      .toString("utf8")
      .split("|");
    const sequence = Number(sequenceText);
    const last = this.#state.producers[producer];
    if (last !== undefined && last.sequence >= sequence && !this.#options.forgetsSequences) {
      return { offset: last.sequence === sequence ? last.offset : -1, isDuplicate: true };
    }
    const partition = Number(partitionText);
    this.#state.partitions[partition] ??= [];
    const values = this.#state.partitions[partition];
    const offset = values.length;
    values.push(value);
    this.#state.producers[producer] = { sequence, offset };
    return { offset, isDuplicate: false };
  }

  noteSkipped(index: number): void {
    this.#state.appliedIndex = index;
  }

  lastAppliedIndex(): number {
    return this.#state.appliedIndex;
  }

  async checkpoint(): Promise<number> {
    const { appliedIndex } = this.#state;
    const image = JSON.stringify(this.#state);
    await this.#options.wait(2);
    this.#save(image);
    return appliedIndex;
  }

  async *createSnapshot(): AsyncIterable<Uint8Array> {
    const image = Buffer.from(JSON.stringify(this.#state));
    for (let at = 0; at < image.length; at += snapshotChunkSize) {
      yield image.subarray(at, at + snapshotChunkSize);
    }
  }

  async installSnapshot(index: number, _term: number, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const parts: Uint8Array[] = [];
    // NOTE: what is there is worthless from here on, as in a state machine that writes over its own files.
    this.#state = { ...this.#state, partitions: [["half replaced"]], producers: {} };
    for await (const chunk of chunks) {
      parts.push(chunk);
    }
    const image = Buffer.concat(parts).toString("utf8");
    const state: LogState = JSON.parse(image);
    this.#state = { ...state, appliedIndex: this.#state.appliedIndex };
    await this.#options.wait(2);
    this.#state.appliedIndex = index;
  }

  onLeadership(isLeader: boolean, term: number): void {
    this.#options.onLeadership(isLeader, term);
  }

  async close(): Promise<void> {}

  /** A file with a checksum in front, replaced as a whole. */
  #save(image: string): void {
    const { disk } = this.#options;
    const bytes = Buffer.from(image);
    const head = Buffer.alloc(8);
    head.writeUInt32LE(bytes.length, 0);
    head.writeUInt32LE(crc32(bytes), 4);
    const path = `${this.#path}.new`;
    disk.remove(path);
    const file = disk.open(path, "create");
    file.write(0, [head, bytes]);
    file.sync();
    file.close();
    disk.rename(path, this.#path);
    disk.syncFolder("state");
  }

  #load(): void {
    const { disk } = this.#options;
    disk.makeFolder("state");
    disk.syncFolder("");
    if (!disk.exists(this.#path)) return;
    const file = disk.open(this.#path, "read");
    const bytes = Buffer.from(file.read(0, file.size()));
    file.close();
    const image = bytes.subarray(8);
    const isIntact =
      bytes.length >= 8 && bytes.readUInt32LE(0) === image.length && bytes.readUInt32LE(4) === crc32(image);
    if (isIntact) this.#state = JSON.parse(image.toString("utf8"));
  }
}

const snapshotChunkSize = 2048;
