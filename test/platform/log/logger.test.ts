import t from "tap";
import { createLogger } from "../../../src/platform/log/logger.ts";

function collect(format: "json" | "pretty" | "auto", isTty = false) {
  const lines: string[] = [];
  const logger = createLogger({
    name: "queue",
    level: "info",
    format,
    isTty,
    destination: { write: (line: string) => void lines.push(line) },
  });
  return { logger, lines };
}

t.test("createLogger() writes JSON lines with level names and redacts secrets", async (t) => {
  const { logger, lines } = collect("json");
  logger.debug({}, "hidden by level");
  logger.child({ requestId: "r1" }).warn({ password: "hunter2", user: { token: "abc", name: "ann" } }, "careful");
  t.equal(lines.length, 1);
  const line = JSON.parse(lines[0] ?? "");
  t.match(line, { level: "warn", name: "queue", requestId: "r1", msg: "careful", password: "[redacted]" });
  t.equal(line.user.token, "[redacted]");
  t.equal(line.user.name, "ann");
});

t.test("createLogger() is pretty on a terminal", async (t) => {
  const { logger, lines } = collect("auto", true);
  logger.info({ topic: "orders" }, "created");
  t.match(lines.join(""), /created/);
  t.throws(() => JSON.parse(lines.join("")));
});
