import { ApiRoutes } from "../../platform/http/api-routes.ts";
import { toBranchJson, toDiffJson, toMaskJson, toPlanJson, toSourceJson, toTransitionJson } from "../cli/output.ts";
import type { Branch } from "../model/records.ts";
import type { BranchingEngine } from "../service/engine.ts";
import type { Caller } from "../service/engine-context.ts";
import { createBranchBody, createSourceBody, diffQuery, maskBody, namedParams, refreshBody } from "./requests.ts";

/**
 * The /v1 API: parse, one call of the engine, serialise. Operations run detached from the client's connection: a client
 * that goes away does not leave half a branch, and `caller()` bounds the operation instead.
 */
export interface EngineRoutesOptions {
  readonly engine: BranchingEngine;
  /** Who is asking, and the daemon's own time limit for one operation. */
  readonly caller: () => Caller;
  /** Added to every branch: where the router is. */
  readonly routerFields: () => Readonly<Record<string, unknown>>;
}

const noContent = { description: "Done" };

export function createEngineRoutes(options: EngineRoutesOptions): ApiRoutes {
  const routes = new ApiRoutes();
  addSourceRoutes(routes, options);
  addBranchRoutes(routes, options);
  addBranchReads(routes, options);
  addReconcileRoutes(routes, options);
  return routes;
}

function addSourceRoutes(routes: ApiRoutes, { engine, caller }: EngineRoutesOptions): void {
  const tag = "Sources";
  routes.add(
    {
      method: "post",
      path: "/v1/sources",
      operationId: "createSource",
      summary: "Register and seed a source; answers when the seed is ready",
      tag,
      body: createSourceBody,
      responses: { 201: { description: "The source" } },
    },
    async (context, { body }) => {
      const { pg_version: pgVersion, dump_schemas: dumpSchemas, ...rest } = body;
      return context.json(toSourceJson(await engine.addSource({ ...rest, pgVersion, dumpSchemas }, caller())), 201);
    },
  );
  routes.add(
    {
      method: "get",
      path: "/v1/sources",
      operationId: "listSources",
      summary: "Every source",
      tag,
      responses: { 200: { description: "The sources" } },
    },
    async (context) => context.json((await engine.listSources()).map(toSourceJson)),
  );
  routes.add(
    {
      method: "delete",
      path: "/v1/sources/{name}",
      operationId: "deleteSource",
      summary: "Remove a source without live branches",
      tag,
      params: namedParams,
      responses: { 204: noContent },
    },
    async (context, { params }) => {
      await engine.removeSource(params.name);
      return context.body(null, 204);
    },
  );
  routes.add(
    {
      method: "post",
      path: "/v1/sources/{name}/refresh",
      operationId: "refreshSource",
      summary: "Seed a new generation; branches keep theirs",
      tag,
      params: namedParams,
      body: refreshBody,
      emptyBody: {},
      responses: { 200: { description: "The source" } },
    },
    async (context, { params, body }) =>
      context.json(toSourceJson(await engine.refreshSource(params.name, body.password ?? "", caller()))),
  );
  routes.add(
    {
      method: "put",
      path: "/v1/sources/{name}/mask",
      operationId: "setMask",
      summary: "Set the mask scripts; an empty list clears them",
      tag,
      params: namedParams,
      body: maskBody,
      responses: { 200: { description: "The scripts" } },
    },
    async (context, { params, body }) => context.json((await engine.setMasks(params.name, body)).map(toMaskJson)),
  );
  routes.add(
    {
      method: "get",
      path: "/v1/sources/{name}/mask",
      operationId: "getMask",
      summary: "The mask scripts in their order",
      tag,
      params: namedParams,
      responses: { 200: { description: "The scripts" } },
    },
    async (context, { params }) => context.json((await engine.listMasks(params.name)).map(toMaskJson)),
  );
}

function addBranchRoutes(routes: ApiRoutes, options: EngineRoutesOptions): void {
  const { engine, caller } = options;
  const tag = "Branches";
  const show = (branch: Branch) => showBranch(options, branch);
  routes.add(
    {
      method: "post",
      path: "/v1/branches",
      operationId: "createBranch",
      summary: "Create a branch; answers when it is ready",
      tag,
      body: createBranchBody,
      responses: { 201: { description: "The branch" } },
    },
    async (context, { body }) => {
      const { ttl_seconds: ttlSeconds, ...rest } = body;
      return context.json(show(await engine.createBranch({ ...rest, ttlSeconds }, caller())), 201);
    },
  );
  for (const operation of ["reset", "recover"] as const) {
    routes.add(
      {
        method: "post",
        path: `/v1/branches/{name}/${operation}`,
        operationId: `${operation}Branch`,
        summary: operation === "reset" ? "Discard the branch's writes" : "Restart a failed branch on its data",
        tag,
        params: namedParams,
        responses: { 200: { description: "The branch" } },
      },
      async (context, { params }) => {
        const run =
          operation === "reset"
            ? engine.resetBranch(params.name, caller())
            : engine.recoverBranch(params.name, caller());
        return context.json(show(await run));
      },
    );
  }
  routes.add(
    {
      method: "delete",
      path: "/v1/branches/{name}",
      operationId: "deleteBranch",
      summary: "Destroy a branch",
      tag,
      params: namedParams,
      responses: { 204: noContent },
    },
    async (context, { params }) => {
      await engine.destroyBranch(params.name, caller());
      return context.body(null, 204);
    },
  );
}

function addBranchReads(routes: ApiRoutes, options: EngineRoutesOptions): void {
  const { engine, caller } = options;
  const tag = "Branches";
  const add = (path: string, operationId: string, summary: string, read: (name: string) => Promise<unknown>): void =>
    routes.add(
      {
        method: "get",
        path,
        operationId,
        summary,
        tag,
        params: namedParams,
        responses: { 200: { description: summary } },
      },
      async (context, { params }) => context.json((await read(params.name)) as object),
    );
  routes.add(
    {
      method: "get",
      path: "/v1/branches",
      operationId: "listBranches",
      summary: "Live branches",
      tag,
      responses: { 200: { description: "The branches" } },
    },
    async (context) => context.json((await engine.listBranches()).map((branch) => showBranch(options, branch))),
  );
  add("/v1/branches/{name}", "getBranch", "One branch", async (name) =>
    showBranch(options, await engine.getBranch(name)),
  );
  add("/v1/branches/{name}/usage", "getUsage", "Bytes that the branch has written", async (name) => ({
    bytes: await engine.measureUsage(name, caller().signal),
  }));
  add("/v1/branches/{name}/history", "getHistory", "The journal of the branch", async (name) =>
    (await engine.getHistory(name)).map(toTransitionJson),
  );
  routes.add(
    {
      method: "get",
      path: "/v1/branches/{name}/diff",
      operationId: "diffBranch",
      summary: "Schema and row counts against the base",
      tag,
      params: namedParams,
      query: diffQuery,
      responses: { 200: { description: "The differences" } },
    },
    async (context, { params, query }) =>
      context.json(toDiffJson(await engine.diffBranch(params.name, query.data, caller()))),
  );
}

function addReconcileRoutes(routes: ApiRoutes, { engine, caller }: EngineRoutesOptions): void {
  const tag = "Reconcile";
  routes.add(
    {
      method: "get",
      path: "/v1/reconcile/plan",
      operationId: "getPlan",
      summary: "What the next pass would do",
      tag,
      responses: { 200: { description: "The plan" } },
    },
    async (context) => context.json(toPlanJson(await engine.planReconcile())),
  );
  routes.add(
    {
      method: "post",
      path: "/v1/reconcile",
      operationId: "reconcile",
      summary: "Do it now",
      tag,
      responses: { 200: { description: "What was done" } },
    },
    async (context) => context.json(toPlanJson((await engine.reconcile(caller())).done)),
  );
}

function showBranch({ engine, routerFields }: EngineRoutesOptions, branch: Branch): Record<string, unknown> {
  return { ...toBranchJson(branch, engine.openPassword(branch)), ...routerFields() };
}
