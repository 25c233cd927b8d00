import { resolve } from "node:path";
import type { Plugin } from "esbuild";

const packageFolder = resolve("node_modules/@kubernetes/client-node/dist");
const placeholder = "kubernetes-client-parts";

/**
 * Of the Kubernetes client only the credentials are used (`KubeConfig`). Its entry point would bring three megabytes of
 * typed API calls along, and its configuration file names them all for the sake of two small parts.
 */
export const kubernetesCredentials: Plugin = {
  name: "kubernetes-credentials",
  setup(build) {
    build.onResolve({ filter: /^@kubernetes\/client-node$/ }, () => ({ path: resolve(packageFolder, "config.js") }));
    build.onResolve({ filter: /^\.\/gen\/index\.js$/ }, (args) =>
      args.importer === resolve(packageFolder, "config.js") ? { path: placeholder, namespace: placeholder } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: placeholder }, () => ({
      contents:
        'export { createConfiguration } from "./configuration.js"; export { ServerConfiguration } from "./servers.js";',
      resolveDir: resolve(packageFolder, "gen"),
    }));
  },
};
