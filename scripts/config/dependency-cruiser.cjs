// The import table of the project: who may import whom. A violation names the rule; the comment says what to do instead.
const features = ["queue", "branching", "fleet", "catalog"];

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: "no-cycle",
      comment: "Split what both sides need into a file of its own",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    {
      name: "platform-knows-no-feature",
      comment: "Pass what the platform needs as an argument",
      severity: "error",
      from: { path: "^src/platform/" },
      to: { path: `^src/(${features.join("|")})/` },
    },
    ...features.map((feature) => ({
      name: `${feature}-imports-no-other-feature`,
      comment: "Features share through src/platform only",
      severity: "error",
      from: { path: `^src/${feature}/` },
      to: { path: `^src/(${features.filter((other) => other !== feature).join("|")})/` },
    })),
    {
      name: "only-module-from-outside",
      comment: "Export it from the feature's module.ts",
      severity: "error",
      from: { path: "^src/((main|commands)\\.ts|up/)" },
      to: { path: `^src/(${features.join("|")})/`, pathNot: "/module\\.ts$" },
    },
    {
      name: "model-is-pure",
      comment: "Take it as an argument or return it as a decision; the service does the rest",
      severity: "error",
      from: { path: "^src/[^/]+/model/" },
      to: {
        path: ["^src/[^/]+/(service|store|drivers|http|grpc|cli|client)/", "^src/platform/", "^(node:)?(fs|net|http|https|child_process|worker_threads)"],
        pathNot: ["^src/platform/(errors|time|random)/"],
      },
    },
    {
      name: "service-has-no-edge",
      comment: "Declare a port in the service and implement it in drivers, store or the edge",
      severity: "error",
      from: { path: "^src/[^/]+/service/" },
      to: { path: ["^src/[^/]+/(store|drivers|http|grpc|cli|client)/", "^src/platform/(http|grpc|cli|sql)/"] },
    },
    {
      name: "store-is-sql-only",
      comment: "A store imports its model, platform/sql and the ports that it implements",
      severity: "error",
      from: { path: "^src/[^/]+/store/" },
      to: { path: ["^src/[^/]+/(drivers|http|grpc|cli|client)/", "^src/platform/(http|grpc|cli)/"] },
    },
    {
      name: "drivers-do-not-know-edges",
      comment: "Drivers implement ports; edges call services",
      severity: "error",
      from: { path: "^src/[^/]+/drivers/" },
      to: { path: ["^src/[^/]+/(http|grpc|cli)/"], pathNot: ["^src/platform/"] },
    },
    {
      name: "edges-call-services",
      comment: "Parse, one service call, serialise: no store or driver from an edge",
      severity: "error",
      from: { path: "^src/[^/]+/(http|grpc)/" },
      to: { path: ["^src/[^/]+/(store|drivers)/"] },
    },
    {
      name: "only-approved-packages",
      comment: "Add the package to package.json on purpose, after a look at its health",
      severity: "error",
      from: { path: "^src/" },
      to: { dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown", "unknown", "undetermined"] },
    },
    {
      name: "resolvable",
      severity: "error",
      from: { path: "^src/" },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: ["/gen/"] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { extensions: [".ts", ".js", ".mjs", ".cjs", ".json"], exportsFields: ["exports"], conditionNames: ["import", "require", "node", "default", "types"] },
  },
};
