import { createRequire } from "node:module";

export interface PackOptions {
  readonly mainPath: string;
  readonly basePath: string;
  readonly output: string;
  readonly arch: "x64" | "arm64";
  readonly nodeVersion: string;
  /** Only where the base runs on this machine: the cache is made by running it. */
  readonly useCodeCache: boolean;
  readonly assets: Readonly<Record<string, string>>;
}

/**
 * pkg's command line cannot take a Node of our own or a configuration of the single executable; its function can.
 * `useLocalNode` keeps it from asking the base for its version, which a foreign architecture could not answer.
 */
export async function packExecutable(options: PackOptions): Promise<void> {
  const require = createRequire(import.meta.url);
  require("@yao-pkg/pkg/lib-es5/options.js").default.set({});
  const pack = require("@yao-pkg/pkg/lib-es5/sea.js").default as (main: string, options: object) => Promise<void>;
  const before = process.cwd();
  await withQuietOutput(() =>
    pack(options.mainPath, {
      targets: [
        { nodeRange: `node${options.nodeVersion}`, platform: "linux", arch: options.arch, output: options.output },
      ],
      signature: false,
      nodePath: options.basePath,
      useLocalNode: true,
      seaConfig: {
        useCodeCache: options.useCodeCache,
        useSnapshot: false,
        disableExperimentalSEAWarning: true,
        execArgv: ["--disable-warning=DEP0169", "--disable-warning=ExperimentalWarning"],
        execArgvExtension: "none",
        assets: options.assets,
      },
    }),
  );
  process.chdir(before);
}

/** pkg and the injector talk on both streams; what they say is only of interest when they fail. */
async function withQuietOutput(action: () => Promise<void>): Promise<void> {
  const said: string[] = [];
  const streams = [process.stdout, process.stderr];
  const writers = streams.map((stream) => stream.write);
  const hear = (chunk: string | Uint8Array): boolean => {
    said.push(String(chunk));
    return true;
  };
  for (const stream of streams) stream.write = hear;
  let failure: unknown;
  try {
    await action();
  } catch (error) {
    failure = error;
  }
  streams.forEach((stream, index) => {
    stream.write = writers[index] ?? stream.write;
  });
  if (failure === undefined) return;
  process.stderr.write(said.join(""));
  throw failure;
}
