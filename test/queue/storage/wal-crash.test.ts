import t from "tap";
import { SimDisk } from "../../../src/platform/files/sim-disk.ts";
import { createSeededRandom, type Random } from "../../../src/platform/random/random.ts";
import { openWriteAheadLog } from "../../../src/queue/drivers/storage/wal/write-ahead-log.ts";
import type { HardState, WalRecord, WriteAheadLog } from "../../../src/queue/service/ports.ts";
import { VirtualTime } from "../../support/queue/virtual-time.ts";

/**
 * Random work on a log, a power failure or a kill at a random moment, and again. After every restart each shard holds
 * every entry that was acknowledged, with its own bytes, and the term and vote that were acknowledged or later ones;
 * nothing is taken for damaged.
 */
const shardCount = 3;

interface Expected {
  /** Bytes by index as last appended. */
  readonly entries: Map<number, { term: number; text: string }>;
  lastIndex: number;
  ackedIndex: number;
  markIndex: number;
  hardStates: HardState[];
  ackedHardState: number;
}

class Scenario {
  readonly random: Random;
  readonly time = new VirtualTime();
  readonly disk: SimDisk;
  readonly shards: Expected[];
  log: WriteAheadLog;
  term = 1;

  constructor(seed: number) {
    this.random = createSeededRandom(seed);
    this.disk = new SimDisk({
      random: this.random,
      schedule: this.time.schedule,
      latencyMs: () => this.random.fraction() * 3,
    });
    this.shards = Array.from({ length: shardCount }, () => ({
      entries: new Map(),
      lastIndex: 0,
      ackedIndex: 0,
      markIndex: 0,
      hardStates: [{ term: 0, votedFor: undefined }],
      ackedHardState: 0,
    }));
    this.log = this.open();
  }

  open(): WriteAheadLog {
    const { disk, time, random } = this;
    const limits = { fileBytes: 32 * 1024, groupBytes: 4096, recentBytes: this.pick(20_000), confirmAfterMs: 5 };
    return openWriteAheadLog({
      disk: disk.mount(),
      folder: "a/wal",
      timers: time,
      random,
      runSoon: time.runSoon,
      limits,
    });
  }

  pick(count: number): number {
    return Math.floor(this.random.fraction() * count);
  }

  step(): void {
    const shard = this.pick(shardCount);
    const expected = this.expected(shard);
    const choice = this.random.fraction();
    if (choice < 0.7) this.append(shard, expected);
    else if (choice < 0.8) this.vote(shard, expected);
    else if (choice < 0.9) this.release(shard, expected);
    else this.time.advance(this.random.fraction() * 20);
  }

  append(shard: number, expected: Expected): void {
    const records: WalRecord[] = [];
    // A follower's conflicting tail: only what is not acknowledged may go.
    if (this.random.fraction() < 0.15 && expected.lastIndex > expected.ackedIndex) {
      const index = expected.ackedIndex + 1 + this.pick(expected.lastIndex - expected.ackedIndex);
      records.push({ kind: "truncate", shard, index });
      expected.lastIndex = index - 1;
      this.term += 1;
    }
    const count = 1 + this.pick(4);
    for (let i = 0; i < count; i += 1) {
      expected.lastIndex += 1;
      const index = expected.lastIndex;
      const text = `${shard}/${index}/${this.term}/`.padEnd(this.pick(1500), "#");
      expected.entries.set(index, { term: this.term, text });
      records.push({ kind: "entry", entry: { shard, index, term: this.term, kind: 1, payload: [Buffer.from(text)] } });
    }
    const reached = expected.lastIndex;
    const term = this.term;
    this.log.append(records, (error) => {
      if (error !== undefined) throw error;
      // An append that was truncated meanwhile acknowledges nothing of the new history.
      if (expected.entries.get(reached)?.term === term && reached <= expected.lastIndex) {
        expected.ackedIndex = Math.max(expected.ackedIndex, reached);
      }
    });
  }

  vote(shard: number, expected: Expected): void {
    this.term += 1;
    const state = { term: this.term, votedFor: `n${this.pick(3)}` };
    const position = expected.hardStates.push(state) - 1;
    this.log.append([{ kind: "hardState", shard, state }], () => {
      expected.ackedHardState = position;
    });
  }

  release(shard: number, expected: Expected): void {
    const index = expected.markIndex + this.pick(expected.ackedIndex - expected.markIndex + 1);
    if (index <= expected.markIndex) return;
    expected.markIndex = index;
    this.log.release(shard, index, expected.entries.get(index)?.term ?? 0);
  }

  restart(): void {
    this.time.clear();
    if (this.random.fraction() < 0.7) this.disk.crash();
    else this.disk.killProcess();
    this.log = this.open();
  }

  /** What is wrong after a restart, if anything; then goes on from what was found. */
  verify(): string | undefined {
    for (let shard = 0; shard < shardCount; shard += 1) {
      const problem = this.verifyShard(shard, this.expected(shard));
      if (problem !== undefined) return `shard ${shard}: ${problem}`;
    }
    return undefined;
  }

  verifyShard(shard: number, expected: Expected): string | undefined {
    const found = this.log.recovered().get(shard);
    if (found?.damage !== undefined) return `called damaged: ${found.damage}`;
    const lastIndex = found?.lastIndex ?? 0;
    if (lastIndex < expected.ackedIndex) return `lost ${lastIndex + 1} to ${expected.ackedIndex}`;
    const markIndex = found?.mark.index ?? 0;
    if (markIndex > expected.markIndex) return `mark ${markIndex} was never set`;
    const held = this.log.readEntries(shard, markIndex + 1, lastIndex, Number.MAX_SAFE_INTEGER);
    if (held.length !== lastIndex - markIndex) return `holds ${held.length} of ${markIndex + 1} to ${lastIndex}`;
    for (const entry of held) {
      const wanted = expected.entries.get(entry.index);
      const text = Buffer.concat(entry.payload).toString();
      if (entry.index <= expected.ackedIndex && (text !== wanted?.text || entry.term !== wanted.term)) {
        return `entry ${entry.index} has other bytes`;
      }
      if (this.log.termAt(shard, entry.index) !== entry.term) return `term of ${entry.index} differs`;
      expected.entries.set(entry.index, { term: entry.term, text });
    }
    const state = found?.hardState ?? { term: 0, votedFor: undefined };
    const position = expected.hardStates.findIndex((one) => one.term === state.term && one.votedFor === state.votedFor);
    if (position < expected.ackedHardState) return `vote ${JSON.stringify(state)} is older than the acknowledged one`;
    expected.hardStates.length = position + 1;
    expected.ackedHardState = position;
    expected.lastIndex = lastIndex;
    expected.ackedIndex = lastIndex;
    expected.markIndex = markIndex;
    return undefined;
  }

  expected(shard: number): Expected {
    const expected = this.shards[shard];
    if (expected === undefined) throw new Error("no such shard");
    return expected;
  }
}

function run(seed: number): string | undefined {
  const scenario = new Scenario(seed);
  for (let life = 0; life < 6; life += 1) {
    const steps = scenario.pick(60);
    for (let step = 0; step < steps; step += 1) scenario.step();
    scenario.time.advance(scenario.random.fraction() * 10);
    scenario.restart();
    const problem = scenario.verify();
    if (problem !== undefined) return `seed ${seed}, life ${life}: ${problem}`;
  }
  return undefined;
}

t.test("every acknowledged entry survives power failures and kills at random moments", (t) => {
  const seedCount = Number(process.env["WAL_SEEDS"] ?? 300);
  const firstSeed = Number(process.env["WAL_FIRST_SEED"] ?? 1);
  for (let seed = firstSeed; seed < firstSeed + seedCount; seed += 1) {
    const problem = run(seed);
    if (problem !== undefined) {
      t.fail(problem);
      break;
    }
  }
  t.pass(`${seedCount} seeds, 6 crashes each`);
  t.end();
});
