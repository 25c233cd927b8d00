import t from "tap";
import { Raft } from "../../../src/queue/model/raft/raft.ts";
import { RaftCluster, type RaftClusterOptions } from "./raft-cluster.ts";

interface Scenario {
  readonly name: string;
  readonly cluster: RaftClusterOptions;
  readonly script: string;
  /** By node: "role term/commit/last: entries". */
  readonly expected: Readonly<Record<string, string>>;
  readonly reads?: Readonly<Record<string, readonly (number | undefined)[]>>;
  readonly underWay?: readonly string[];
  readonly voters?: Readonly<Record<string, readonly string[]>>;
  /** Nodes that recover at the end. */
  readonly recovering?: readonly string[];
}

const three = { nodes: ["1", "2", "3"] };
const five = { nodes: ["1", "2", "3", "4", "5"] };

const scenarios: readonly Scenario[] = [
  {
    name: "a single voter leads at its first tick and commits what it has synced",
    cluster: { nodes: ["1"] },
    script: "tick 1\n sync\n sync\n propose 1 a",
    expected: { "1": "leader 1/1/2: 1- 1a" },
  },
  {
    name: "a single voter says that it leads only when its vote is durable",
    cluster: { nodes: ["1"] },
    script: "tick 1",
    expected: { "1": "candidate 1/0/0:" },
  },
  {
    name: "a single voter on a slow disk waits for its vote and does not raise the term",
    cluster: { nodes: ["1"] },
    script: "tick 1 50\n sync\n sync",
    expected: { "1": "leader 1/1/1: 1-" },
  },
  {
    name: "an elected leader commits an empty entry and then commands",
    cluster: three,
    script: "elect 1\n propose 1 a\n deliver\n tick 1\n deliver",
    expected: { "1": "leader 1/2/2: 1- 1a", "2": "follower 1/2/2: 1- 1a", "3": "follower 1/2/2: 1- 1a" },
  },
  {
    name: "nothing is committed before a majority has synced it",
    cluster: three,
    script: "elect 1\n propose 1 a\n step 1>2\n step 1>3\n sync 1",
    expected: { "1": "leader 1/1/2: 1- 1a", "2": "follower 1/1/2: 1- 1a" },
    underWay: [],
  },
  {
    name: "a follower confirms when it has synced, and one confirmation is enough of three",
    cluster: three,
    script: "elect 1\n propose 1 a\n sync 1\n step 1>2\n drop 1>3\n sync 2\n step 2>1",
    expected: { "1": "leader 1/2/2: 1- 1a" },
  },
  {
    name: "confirmations of followers count before the leader's own sync does",
    cluster: three,
    script: "elect 1\n propose 1 a\n step 1>2\n step 1>3\n sync 2\n sync 3\n step 2>1\n step 3>1",
    expected: { "1": "leader 1/2/2: 1- 1a" },
  },
  {
    name: "a vote that is not synced is not sent",
    cluster: three,
    script: "tick 1 10\n step 1>2\n step 2>1\n sync 1\n step 1>2",
    expected: { "1": "candidate 1/0/0:", "2": "follower 1/0/0:" },
    underWay: ["1>3 voteRequest", "1>3 voteRequest"],
  },
  {
    name: "pre-vote: a node that was cut off comes back without raising the term",
    cluster: three,
    script: "elect 1\n cut 3\n tick 3 40\n drop\n mend\n tick 3 10\n deliver\n tick 1\n deliver",
    expected: { "1": "leader 1/1/1: 1-", "3": "follower 1/1/1: 1-" },
  },
  {
    name: "check-quorum: a leader that reaches nobody steps down",
    cluster: three,
    script: "elect 1\n cut 1\n tick 1 20\n drop",
    expected: { "1": "follower 1/1/1: 1-" },
  },
  {
    name: "a majority elects another leader, and the old one follows it when it hears of it",
    cluster: three,
    script: `elect 1
      cut 1
      propose 1 lost
      tick 3 11
      elect 2
      propose 2 b
      deliver
      mend
      tick 2
      deliver
      tick 2
      deliver`,
    expected: { "1": "follower 2/3/3: 1- 2- 2b", "2": "leader 2/3/3: 1- 2- 2b" },
  },
  {
    name: "a node whose log is behind is not elected",
    cluster: three,
    script: `elect 1
      cut 3
      propose 1 a
      deliver
      mend
      cut 1
      tick 2 11
      tick 3 14
      deliver`,
    expected: { "2": "follower 1/1/2: 1- 1a", "3": "preCandidate 1/0/1: 1-" },
  },
  {
    name: "a restart forgets what was not synced and keeps term and vote",
    cluster: three,
    script: "elect 1\n propose 1 a\n step 1>2\n restart 2",
    expected: { "2": "follower 1/0/1: 1-" },
  },
  {
    name: "leadership transfer goes to a follower that has everything",
    cluster: three,
    script: "elect 1\n propose 1 a\n deliver\n transfer 1 2\n deliver\n tick 2\n deliver",
    expected: { "1": "follower 2/3/3: 1- 1a 2-", "2": "leader 2/3/3: 1- 1a 2-", "3": "follower 2/3/3: 1- 1a 2-" },
  },
  {
    name: "a transfer that fails ends after an election timeout",
    cluster: three,
    script: "elect 1\n cut 2\n transfer 1 2\n drop\n mend\n tick 1 10\n deliver\n propose 1 a\n deliver",
    expected: { "1": "leader 1/2/2: 1- 1a" },
  },
  {
    name: "a read is answered when a majority has confirmed the leader",
    cluster: three,
    script: "elect 1\n propose 1 a\n deliver\n read 1\n deliver 1>2\n deliver 2>1",
    expected: { "1": "leader 1/2/2: 1- 1a" },
    reads: { "1": [2] },
  },
  {
    name: "a read that no majority confirms is not answered",
    cluster: three,
    script: "elect 1\n cut 2\n cut 3\n read 1\n deliver",
    expected: { "1": "leader 1/1/1: 1-" },
    reads: { "1": [] },
  },
  {
    name: "one follower of four is no majority for a read, two are",
    cluster: five,
    script: "elect 1\n read 1\n step 1>2\n step 2>1",
    expected: { "1": "leader 1/1/1: 1-" },
    reads: { "1": [] },
  },
  {
    name: "two followers of four are a majority for a read",
    cluster: five,
    script: "elect 1\n read 1\n step 1>2\n step 2>1\n step 1>3\n step 3>1",
    expected: { "1": "leader 1/1/1: 1-" },
    reads: { "1": [1] },
  },
  {
    name: "a new leader answers no read before it has committed in its own term",
    cluster: three,
    script: `elect 1
      propose 1 a
      step 1>2
      sync
      step 2>1
      drop
      cut 1
      tick 3 11
      win 2 3
      read 2
      tick 2
      step 2>3
      step 3>2`,
    expected: { "2": "leader 2/1/3: 1- 1a 2-" },
    reads: { "2": [] },
  },
  {
    name: "a deposed leader gives up the reads it has promised",
    cluster: three,
    script: "elect 1\n cut 1\n read 1\n drop\n tick 1 20\n drop",
    expected: { "1": "follower 1/1/1: 1-" },
    reads: { "1": [undefined] },
  },
  {
    name: "a follower reads through the leader",
    cluster: three,
    script: "elect 1\n propose 1 a\n deliver\n tick 1\n deliver\n read 2\n deliver",
    expected: { "2": "follower 1/2/2: 1- 1a" },
    reads: { "2": [2] },
  },
  {
    name: "a learner receives and does not count",
    cluster: { nodes: ["1", "2", "3"], voters: ["1", "2"] },
    script: `elect 1
      members 1 addLearner 3
      deliver
      tick 1
      deliver
      cut 2
      propose 1 a
      deliver`,
    expected: { "1": "leader 1/2/3: 1- 1members 1a", "3": "follower 1/2/3: 1- 1members 1a" },
  },
  {
    name: "a learner that has caught up becomes a voter and counts",
    cluster: { nodes: ["1", "2", "3"], voters: ["1", "2"] },
    script: `elect 1
      members 1 addLearner 3
      deliver
      tick 1
      deliver
      members 1 promote 3
      deliver
      cut 2
      propose 1 a
      deliver`,
    expected: { "1": "leader 1/4/4: 1- 1members 1members 1a" },
  },
  {
    name: "a leader that removes itself steps down when the change is committed",
    cluster: three,
    script: "elect 1\n members 1 remove 1\n deliver\n tick 1 30\n tick 3 11\n elect 2",
    expected: { "1": "follower 1/2/2: 1- 1members", "2": "leader 2/3/3: 1- 1members 2-" },
  },
  {
    name: "members that were never committed go with their entry",
    cluster: three,
    script: `elect 1
      cut 1
      members 1 remove 3
      drop
      tick 3 11
      elect 2
      mend
      tick 2
      deliver
      tick 2
      deliver`,
    expected: { "1": "follower 2/2/2: 1- 2-", "2": "leader 2/2/2: 1- 2-", "3": "follower 2/2/2: 1- 2-" },
    voters: { "1": ["1", "2", "3"] },
  },
  {
    name: "a follower that needs what the log let go takes a snapshot and goes on from there",
    cluster: three,
    script: `elect 1
      cut 3
      propose 1 a
      propose 1 b
      deliver
      release 1 3
      mend
      tick 1
      deliver
      tick 1
      deliver
      install 1 3
      deliver
      propose 1 c
      deliver
      tick 1
      deliver`,
    expected: { "1": "leader 1/4/4: 1c", "3": "follower 1/4/4: 1c" },
  },
  {
    name: "a snapshot keeps the entries behind it when they are of the same history",
    cluster: three,
    script: `elect 1
      propose 1 a
      deliver
      tick 1
      deliver
      propose 1 b
      step 1>3
      sync 3
      drop
      install 1 3
      deliver`,
    expected: { "3": "follower 1/2/3: 1b" },
  },
  {
    name: "a wiped voter does not vote",
    cluster: three,
    script: "elect 1\n propose 1 a\n deliver\n cut 1\n wipe 3\n tick 2 12\n tick 3 20\n deliver",
    expected: { "2": "preCandidate 1/1/2: 1- 1a", "3": "follower 0/0/0:" },
  },
  {
    name: "a wiped voter counts again once it holds an entry that the others committed without it",
    cluster: three,
    script: `elect 1
      propose 1 a
      deliver
      wipe 3
      tick 1
      deliver
      tick 1 2
      deliver
      tick 1 2
      deliver
      cut 2
      propose 1 b
      deliver`,
    expected: { "1": "leader 1/4/4: 1- 1a 1- 1b", "3": "follower 1/3/4: 1- 1a 1- 1b" },
  },
  {
    name: "a wiped voter does not help to commit before that",
    cluster: three,
    script: `elect 1
      cut 2
      wipe 3
      tick 1
      deliver
      tick 1 2
      deliver
      propose 1 a
      deliver`,
    expected: { "1": "leader 1/1/3: 1- 1- 1a", "3": "follower 1/1/3: 1- 1- 1a" },
  },
  {
    name: "a late answer of a recovery that is over does not begin it again",
    cluster: three,
    script: `elect 1
      wipe 3
      tick 1
      step 1>3
      sync 3
      keep 3>1
      deliver
      tick 1 2
      deliver
      tick 1 2
      deliver
      replay
      cut 2
      propose 1 b
      deliver
      tick 1 2
      deliver`,
    expected: { "1": "leader 1/3/3: 1- 1- 1b", "3": "follower 1/3/3: 1- 1- 1b" },
  },
  {
    name: "a late answer of the life before does not end a recovery that the follower has not heard the end of",
    cluster: three,
    script: `elect 1
      propose 1 a
      sync 1
      step 1>3
      sync 3
      keep 3>1
      deliver
      wipe 3
      tick 1
      step 1>3
      deliver
      replay
      tick 1 2
      deliver
      tick 1 2
      deliver
      cut 2
      propose 1 b
      deliver
      tick 1 2
      deliver`,
    expected: { "1": "leader 1/4/4: 1- 1a 1- 1b", "3": "follower 1/4/4: 1- 1a 1- 1b" },
    recovering: [],
  },
  {
    name: "no more than the window is on its way to a follower",
    cluster: { ...three, inFlightAppendsMax: 2 },
    script: "elect 1\n cut 3\n drop\n propose 1 a\n propose 1 b\n propose 1 c\n propose 1 d",
    expected: { "1": "leader 1/1/5: 1- 1a 1b 1c 1d" },
    underWay: ["1>2 append", "1>3 append", "1>2 append", "1>3 append"],
  },
];

for (const { name, cluster: options, script, expected, reads, underWay, voters, recovering } of scenarios) {
  t.test(name, async (t) => {
    const cluster = new RaftCluster(options);
    cluster.run(script);
    for (const [id, text] of Object.entries(expected)) t.equal(cluster.describe(id), text, `node ${id}`);
    for (const [id, results] of Object.entries(reads ?? {})) t.strictSame(cluster.node(id).reads, results);
    if (underWay !== undefined) t.strictSame(cluster.underWay, underWay);
    for (const [id, names] of Object.entries(voters ?? {})) t.strictSame(cluster.node(id).raft.members.voters, names);
    const recoveringNow = options.nodes.filter((id) => cluster.node(id).raft.isRecovering);
    if (recovering !== undefined) t.strictSame(recoveringNow, recovering);
    t.strictSame(cluster.divergences, []);
  });
}

const memberRefusals = [
  { name: "while another change is not committed", script: "elect 1\n members 1 remove 3", reason: /another change/ },
  { name: "before the leader has committed in its term", script: "win 1 2 3", reason: /has not committed/ },
  { name: "on a node that does not lead", script: "", reason: /does not lead/ },
] as const;

for (const { name, script, reason } of memberRefusals) {
  t.test(`members do not change ${name}`, async (t) => {
    const cluster = new RaftCluster({ nodes: ["1", "2", "3", "4"], voters: ["1", "2", "3"] });
    cluster.run(script);
    t.throws(() => cluster.run("members 1 addLearner 4"), { message: reason });
  });
}

t.test("changes of members that make no sense are refused", async (t) => {
  const cluster = new RaftCluster({ nodes: ["1", "2"], voters: ["1"] });
  cluster.run("tick 1\n deliver");
  t.throws(() => cluster.run("members 1 remove 1"), { message: /last voter/ });
  t.throws(() => cluster.run("members 1 addLearner 1"), { message: /member already/ });
  t.throws(() => cluster.run("members 1 remove 9"), { message: /not a member/ });
  t.throws(() => cluster.run("members 1 promote 2"), { message: /not caught up/ });
  cluster.run("members 1 addLearner 2\n deliver\n tick 1\n deliver\n members 1 promote 2\n deliver");
  t.strictSame(cluster.node("1").raft.members.voters, ["1", "2"]);
});

class CountsOldTerms extends Raft {
  protected override mayCommitByCounting(): boolean {
    return true;
  }
}

/**
 * 1 leads term 1 and gives "old" to 2 alone. 5 leads term 2 and its entry stays with it. 1 leads term 3 and gives "old",
 * and not its own first entry, to 3: a majority holds "old". Then 5 leads term 4, as it may, and its entries win.
 */
const oldTermScript = `elect 1
  tick 1
  deliver
  cut 3
  cut 4
  cut 5
  propose 1 old
  deliver
  mend
  tick 3 10
  tick 4 10
  win 5 3 4
  tick 1
  step 1>3
  step 3>1
  drop
  tick 2 10
  tick 3 10
  win 1 2 3
  tick 1
  step 1>2
  sync 2
  step 2>1
  step 1>3
  step 3>1
  step 1>3
  sync 3
  step 3>1
  drop
  tick 5
  step 5>3
  step 3>5
  drop
  tick 3 10
  tick 4 10
  win 5 3 4
  cut 1
  cut 2
  tick 5
  deliver
  tick 5
  deliver`;

t.test("an entry of an earlier term is not committed by being counted", async (t) => {
  const options = { ...five, appendEntriesMax: 1 };
  const kept = new RaftCluster(options);
  kept.run(oldTermScript);
  t.equal(kept.describe("1"), "leader 3/1/3: 1- 1old 3-", "a majority holds entry 2, which is not committed");
  t.equal(kept.describe("5"), "leader 4/3/3: 1- 2- 4-");
  t.strictSame(kept.divergences, []);

  const broken = new RaftCluster({ ...options, create: (raft) => new CountsOldTerms(raft) });
  broken.run(oldTermScript);
  t.ok(broken.divergences.includes("1 and 5 differ at 1: 1old and 2-"), "with the rule broken the loss shows");
});
