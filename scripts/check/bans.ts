// What only one folder may touch, so that features stay testable. Each ban names its replacement.
import { globSync, readFileSync } from "node:fs";

interface Ban {
  readonly pattern: RegExp;
  readonly owners: readonly RegExp[];
  readonly replacement: string;
}

const bans: readonly Ban[] = [
  {
    pattern: /\bprocess\.env\b/,
    owners: [/^src\/platform\/cli\//],
    replacement: "context.env or the feature's config",
  },
  {
    pattern: /\bnew Date\(\)|\bDate\.now\(/,
    owners: [/^src\/platform\/time\//],
    replacement: "Clock of platform/time",
  },
  {
    pattern: /(?<![.\w])set(Timeout|Interval|Immediate)\(/,
    owners: [/^src\/platform\/time\//],
    replacement: "Timers or sleep of platform/time",
  },
  { pattern: /\bMath\.random\(/, owners: [/^src\/platform\/random\//], replacement: "Random of platform/random" },
  {
    pattern: /\b(randomBytes|randomUUID|randomInt)\(|\bcrypto\.random/,
    owners: [/^src\/platform\/random\//],
    replacement: "Random of platform/random",
  },
  { pattern: /(?<![.\w])console\./, owners: [], replacement: "Logger of platform/log or context.terminal" },
  {
    pattern: /\bprocess\.exit\(/,
    owners: [/^src\/platform\/(lifecycle|cli)\//],
    replacement: "the exit code that the command resolves to",
  },
  { pattern: /@ts-(ignore|nocheck|expect-error)/, owners: [], replacement: "a type that is right" },
];

export function findBannedUses(): readonly string[] {
  const problems: string[] = [];
  for (const path of globSync("src/**/*.ts")) {
    if (path.includes("/gen/")) continue;
    const lines = withoutComments(readFileSync(path, "utf8")).split("\n");
    for (const ban of bans) {
      if (ban.owners.some((owner) => owner.test(path))) continue;
      lines.forEach((line, index) => {
        if (ban.pattern.test(line)) problems.push(`${path}:${index + 1}: use ${ban.replacement}: ${line.trim()}`);
      });
    }
  }
  return problems;
}

/** Comments blanked line by line, so that line numbers stay; good enough for code that is formatted. */
function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, " ")).replace(/^\s*\/\/.*$/gm, "");
}
