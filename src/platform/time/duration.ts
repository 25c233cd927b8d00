const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const partPattern = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/g;
const wholePattern = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/;

/**
 * Parses `300ms`, `30s`, `5m`, `1h30m`, `7d`; a bare number counts seconds. Returns milliseconds, or undefined when
 * the text is no duration.
 */
export function parseDuration(text: string): number | undefined {
  const trimmed = text.trim();
  if (/^\d+(\.\d+)?$/.test(trimmed)) return Math.round(Number(trimmed) * 1000);
  if (!wholePattern.test(trimmed)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of trimmed.matchAll(partPattern)) totalMs += Number(amount) * (unitMs[unit ?? ""] ?? 0);
  return Number.isSafeInteger(Math.round(totalMs)) ? Math.round(totalMs) : undefined;
}

/** The shortest exact form: `1h30m`, `500ms`, `0s`. */
export function formatDuration(durationMs: number): string {
  if (durationMs === 0) return "0s";
  let rest = Math.round(durationMs);
  let text = "";
  for (const unit of ["d", "h", "m", "s", "ms"]) {
    const size = unitMs[unit] ?? 1;
    const count = Math.floor(rest / size);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * size;
  }
  return text;
}
