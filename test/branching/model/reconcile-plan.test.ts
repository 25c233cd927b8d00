import t from "tap";
import {
  actionKinds,
  type DesiredState,
  type ObservedState,
  planReconcile,
  type SeenInstance,
  type SeenVolume,
} from "../../../src/branching/model/reconcile-plan.ts";
import type { Branch, Generation, Layer, Source } from "../../../src/branching/model/records.ts";

const nowMs = 10_000_000;
const clock = { nowMs, stuckTimeoutMs: 600_000 };
const fresh = nowMs - 600_000;
const stale = nowMs - 600_001;

const source: Source = {
  id: "s1",
  name: "shop",
  host: "db",
  port: 5432,
  user: "postgres",
  database: "postgres",
  network: undefined,
  pgVersion: "17",
  via: "basebackup",
  dumpSchemas: [],
  image: undefined,
  state: "ready",
  generation: 2,
  createdAtMs: 0,
  updatedAtMs: 0,
  isRefreshing: false,
};
const generation: Generation = {
  id: "g2",
  sourceId: "s1",
  sourceName: "shop",
  number: 2,
  state: "ready",
  volume: "v-source",
  layout: "overlay",
  clonesExtents: false,
  imageId: "i",
  superuser: "postgres",
  maxConnections: 100,
  walSegmentBytes: 16_777_216,
  createdAtMs: 0,
  updatedAtMs: 0,
};
const branch: Branch = {
  id: "b1",
  name: "one",
  sourceName: "shop",
  generationId: "g2",
  parentName: undefined,
  parentId: undefined,
  state: "ready",
  baseLayerId: undefined,
  topLayerId: undefined,
  volume: "v-one",
  pendingVolume: undefined,
  instanceId: "c1",
  host: "127.0.0.1",
  port: 21_000,
  user: "postgres",
  database: "postgres",
  sealedPassword: undefined,
  isReleased: true,
  expiresAtMs: undefined,
  createdAtMs: 0,
  updatedAtMs: 0,
  isThrowaway: false,
};
const instance: SeenInstance = {
  id: "c1",
  labels: { kind: "branch", name: "one" },
  status: "running",
  endpoint: { host: "127.0.0.1", port: 21_000 },
  createdAtMs: 0,
};
const layer: Layer = {
  id: "l1",
  volume: "v-l1",
  generationId: "g2",
  parentId: undefined,
  layout: "overlay",
  createdAtMs: 0,
};

function volume(name: string, kind = "branch", label = "one", createdAtMs = 0): SeenVolume {
  return { name, labels: { kind, name: label }, createdAtMs };
}

const allVolumes = [volume("v-source", "source", "shop"), volume("v-one")];

interface Case {
  readonly name: string;
  readonly desired?: Partial<DesiredState>;
  readonly observed?: Partial<ObservedState>;
  readonly expected: readonly string[];
}

const helper = { ...instance, id: "h1", labels: { kind: "helper", name: "shop" }, endpoint: undefined };

const cases: readonly Case[] = [
  { name: "nothing to do", expected: [] },
  { name: "expired", desired: { branches: [{ ...branch, expiresAtMs: nowMs }] }, expected: ["reap one"] },
  { name: "not yet expired", desired: { branches: [{ ...branch, expiresAtMs: nowMs + 1 }] }, expected: [] },
  {
    name: "failed and expired",
    desired: { branches: [{ ...branch, state: "failed", expiresAtMs: 1 }] },
    expected: ["reap one"],
  },
  {
    name: "failed throwaway",
    desired: { branches: [{ ...branch, state: "failed", isThrowaway: true }] },
    expected: ["reap one"],
  },
  {
    name: "creating, just alive",
    desired: { branches: [{ ...branch, state: "creating", updatedAtMs: fresh }] },
    expected: [],
  },
  {
    name: "creating, stuck",
    desired: { branches: [{ ...branch, state: "creating", updatedAtMs: stale }] },
    expected: ["fail_stuck one"],
  },
  {
    name: "resetting, stuck",
    desired: { branches: [{ ...branch, state: "resetting", updatedAtMs: stale }] },
    expected: ["fail_stuck one"],
  },
  {
    name: "stuck, but worked on here",
    desired: { branches: [{ ...branch, state: "resetting", updatedAtMs: stale }], busyBranches: new Set(["one"]) },
    expected: [],
  },
  {
    name: "destroying, stuck",
    desired: { branches: [{ ...branch, state: "destroying", updatedAtMs: stale }] },
    expected: ["retry_destroy one"],
  },
  {
    name: "destroying, alive",
    desired: { branches: [{ ...branch, state: "destroying", updatedAtMs: fresh }] },
    expected: [],
  },
  { name: "container gone", observed: { instances: [] }, expected: ["restart_branch one"] },
  {
    name: "container exited",
    observed: { instances: [{ ...instance, status: "exited", endpoint: undefined }] },
    expected: ["restart_branch one"],
  },
  {
    name: "container paused",
    observed: { instances: [{ ...instance, status: "paused" }] },
    expected: ["restart_branch one"],
  },
  {
    name: "container paused for a fork",
    desired: {
      branches: [
        branch,
        {
          ...branch,
          id: "b2",
          name: "two",
          parentId: "b1",
          parentName: "one",
          state: "creating",
          updatedAtMs: fresh,
          volume: undefined,
          instanceId: undefined,
        },
      ],
    },
    observed: { instances: [{ ...instance, status: "paused" }] },
    expected: [],
  },
  {
    name: "moved",
    observed: { instances: [{ ...instance, endpoint: { host: "127.0.0.1", port: 5 } }] },
    expected: ["update_endpoint one"],
  },
  {
    name: "seed stuck",
    desired: { sources: [{ ...source, state: "seeding", updatedAtMs: stale }] },
    expected: ["fail_stuck_source shop"],
  },
  { name: "seed alive", desired: { sources: [{ ...source, state: "seeding", updatedAtMs: fresh }] }, expected: [] },
  {
    name: "refresh stuck",
    desired: { sources: [{ ...source, isRefreshing: true, updatedAtMs: stale }] },
    expected: ["fail_stuck_source shop"],
  },
  {
    name: "container without a row",
    observed: { instances: [instance, { ...instance, id: "c2", labels: { kind: "branch", name: "ghost" } }] },
    expected: ["remove_orphan_container c2"],
  },
  {
    name: "second container of a ready branch",
    observed: { instances: [instance, { ...instance, id: "c2" }] },
    expected: ["remove_orphan_container c2"],
  },
  {
    name: "second container of a branch at work",
    desired: { branches: [{ ...branch, state: "resetting", updatedAtMs: fresh }] },
    observed: { instances: [instance, { ...instance, id: "c2" }] },
    expected: [],
  },
  {
    name: "old helper",
    observed: { instances: [instance, { ...helper, createdAtMs: stale }] },
    expected: ["remove_orphan_helper h1"],
  },
  { name: "young helper", observed: { instances: [instance, { ...helper, createdAtMs: fresh }] }, expected: [] },
  {
    name: "old helper of a seed that lives",
    desired: { sources: [{ ...source, isRefreshing: true, updatedAtMs: fresh }] },
    observed: { instances: [instance, { ...helper, createdAtMs: stale }] },
    expected: [],
  },
  {
    name: "the pool's keeper",
    observed: { instances: [instance, { ...helper, labels: { kind: "pool", name: "keeper" } }] },
    expected: [],
  },
  {
    name: "unused layer",
    desired: { layers: [layer] },
    observed: { volumes: [...allVolumes, volume("v-l1")] },
    expected: ["gc_layer v-l1"],
  },
  { name: "used layer", desired: { layers: [layer], branches: [{ ...branch, topLayerId: "l1" }] }, expected: [] },
  {
    name: "layer of the base only",
    desired: { layers: [layer], branches: [{ ...branch, baseLayerId: "l1" }] },
    expected: [],
  },
  {
    name: "unused chain, top first",
    desired: { layers: [layer, { ...layer, id: "l2", volume: "v-l2", parentId: "l1" }] },
    expected: ["gc_layer v-l2", "gc_layer v-l1"],
  },
  {
    name: "layer below a used one",
    desired: {
      layers: [layer, { ...layer, id: "l2", volume: "v-l2", parentId: "l1" }],
      branches: [{ ...branch, topLayerId: "l2" }],
    },
    expected: [],
  },
  {
    name: "volume without owner",
    observed: { volumes: [...allVolumes, volume("v-x", "branch", "x", stale)] },
    expected: ["gc_volume v-x"],
  },
  {
    name: "young volume without owner",
    observed: { volumes: [...allVolumes, volume("v-x", "branch", "x", fresh)] },
    expected: [],
  },
  {
    name: "pending volume",
    desired: { branches: [{ ...branch, pendingVolume: "v-x" }] },
    observed: { volumes: [...allVolumes, volume("v-x", "branch", "x", stale)] },
    expected: [],
  },
  {
    name: "generation that is not current",
    desired: { generations: [generation, { ...generation, id: "g1", number: 1, state: "retired", volume: "v-old" }] },
    observed: { volumes: [...allVolumes, volume("v-old", "source", "shop")] },
    expected: ["gc_volume v-old"],
  },
  {
    name: "old generation under a branch",
    desired: {
      generations: [generation, { ...generation, id: "g1", number: 1, state: "retired", volume: "v-old" }],
      branches: [{ ...branch, generationId: "g1" }],
    },
    observed: { volumes: [...allVolumes, volume("v-old", "source", "shop")] },
    expected: [],
  },
  {
    name: "generation of a dead refresh",
    desired: {
      generations: [
        generation,
        { ...generation, id: "g3", number: 3, state: "seeding", volume: "v-new", updatedAtMs: stale },
      ],
    },
    observed: { volumes: [...allVolumes, volume("v-new", "source", "shop")] },
    expected: ["gc_volume v-new"],
  },
  {
    name: "generation of a running refresh",
    desired: {
      sources: [{ ...source, isRefreshing: true, updatedAtMs: fresh }],
      generations: [
        generation,
        { ...generation, id: "g3", number: 3, state: "seeding", volume: "v-new", updatedAtMs: fresh },
      ],
    },
    observed: { volumes: [...allVolumes, volume("v-new", "source", "shop")] },
    expected: [],
  },
  {
    name: "source removed",
    desired: { sources: [], branches: [] },
    observed: { instances: [] },
    expected: ["gc_volume v-source", "gc_volume v-one"],
  },
];

t.test("planReconcile() does what is needed and nothing more", async (t) => {
  for (const { name, desired, observed, expected } of cases) {
    const plan = planReconcile(
      {
        sources: [source],
        generations: [generation],
        layers: [],
        branches: [branch],
        busyBranches: new Set(),
        ...desired,
      },
      { instances: [instance], volumes: allVolumes, ...observed },
      clock,
    );
    t.strictSame(
      plan.map((action) => `${action.kind} ${action.target}`),
      expected,
      name,
    );
    t.ok(
      plan.every((action) => action.reason !== "" && actionKinds.includes(action.kind)),
      `${name}: says why`,
    );
  }
});

t.test("a plan over 500 branches is made in a blink", async (t) => {
  const branches = Array.from({ length: 500 }, (_, index) => ({
    ...branch,
    id: `b${index}`,
    name: `n${index}`,
    instanceId: `c${index}`,
    volume: `v${index}`,
  }));
  const instances = branches.map((item) => ({
    ...instance,
    id: item.instanceId,
    labels: { kind: "branch", name: item.name },
  }));
  const volumes = [
    volume("v-source", "source", "shop"),
    ...branches.map((item) => volume(item.volume, "branch", item.name)),
  ];
  const layers = Array.from({ length: 100 }, (_, index) => ({
    ...layer,
    id: `l${index}`,
    volume: `vl${index}`,
    parentId: index === 0 ? undefined : `l${index - 1}`,
  }));
  const startedMs = performance.now();
  const plan = planReconcile(
    {
      sources: [source],
      generations: [generation],
      layers,
      branches: branches.map((item) => ({ ...item, topLayerId: "l99" })),
      busyBranches: new Set(),
    },
    { instances, volumes },
    clock,
  );
  t.strictSame(plan, []);
  t.ok(performance.now() - startedMs < 500, "in half a second even on a busy machine");
});
