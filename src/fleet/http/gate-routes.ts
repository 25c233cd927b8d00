import { z } from "zod";
import { ApiRoutes } from "../../platform/http/api-routes.ts";
import { type HttpContext, requestSignal } from "../../platform/http/http-env.ts";
import { createHttpError } from "../../platform/http/http-errors.ts";
import { readBody } from "../../platform/http/read-body.ts";
import { fleetError } from "../errors.ts";
import { type ExportFormat, exportTypes, parseExportFormat, renderExport } from "../exports/render-export.ts";
import type { IgnoreRule } from "../model/ignore-rules.ts";
import { parseKubernetesMinor } from "../model/kubernetes-minor.ts";
import type { GateAnswer, GateService } from "../service/gate-service.ts";
import { failOnChoices } from "../service/judge.ts";

/** `POST /api/v1/gate`: passed is 200, failed is 422 with the same body; the verdict header tells it from bad input. */
export interface GateRoutesOptions {
  readonly gate: GateService;
  readonly bodyLimitBytes: number;
  readonly toolVersion: string;
  readonly parseConfig: (text: string) => readonly IgnoreRule[];
}

const pathBytesMax = 512;
const configBytesMax = 32 * 1024;
const mediaTypes = new Set([
  "application/x-yaml",
  "application/yaml",
  "text/yaml",
  "application/json",
  "application/octet-stream",
]);

const query = z.object({
  target: z.string().describe("Kubernetes minor to move to, for example 1.36"),
  format: z.string().optional().describe("json, sarif, codequality, junit, csv, markdown or html; wins over Accept"),
  "fail-on": z.enum(failOnChoices).default("blocker"),
  "allow-incomplete": z.enum(["true", "false"]).default("false"),
  path: z.string().optional().describe("Name of the stream in findings, at most 512 bytes"),
  config: z.string().optional().describe("YAML with ignore rules, at most 32 KiB, given once"),
});

export function createGateRoutes(options: GateRoutesOptions): ApiRoutes {
  const routes = new ApiRoutes();
  routes.add(
    {
      method: "post",
      path: "/api/v1/gate",
      operationId: "judgeManifests",
      summary: "Judge manifests against an upgrade target",
      description: "The body is a stream of YAML or JSON manifests. `X-Fleetscope-Verdict` is set on every judgement.",
      tag: "Gate",
      query,
      responses: {
        200: { description: "The gate passed" },
        422: { description: "The gate failed (with X-Fleetscope-Verdict), or the input cannot be judged (without)" },
      },
    },
    (context, input) => handleGate(context, input.query, options),
  );
  return routes;
}

async function handleGate(
  context: HttpContext,
  input: z.output<typeof query>,
  options: GateRoutesOptions,
): Promise<Response> {
  assertManifestType(context);
  const target = parseKubernetesMinor(input.target);
  if (target === undefined) {
    throw fleetError("target_invalid", `Cannot judge for "${input.target}": a target is a minor such as 1.36`);
  }
  const format = chooseFormat(context, input.format);
  const answer = await options.gate.judge({
    body: await readBody(context, { limitBytes: options.bodyLimitBytes }),
    file: checkedPath(input.path),
    target,
    policy: { failOn: input["fail-on"], allowIncomplete: input["allow-incomplete"] === "true" },
    ignoreRules: readConfig(input.config, options),
    signal: requestSignal(context),
  });
  const text = render(format, answer, input["fail-on"], options.toolVersion);
  if (Buffer.byteLength(text) > options.bodyLimitBytes) {
    throw createHttpError(
      "PAYLOAD_TOO_LARGE",
      `Cannot answer: the report is larger than ${options.bodyLimitBytes} bytes`,
    );
  }
  return context.body(text, answer.decision.isPassed ? 200 : 422, {
    "Content-Type": exportTypes[format].contentType,
    "X-Fleetscope-Verdict": answer.report.verdict,
  });
}

function render(
  format: ExportFormat,
  answer: GateAnswer,
  failOn: (typeof failOnChoices)[number],
  toolVersion: string,
): string {
  const { report, warnings, evaluatedAt } = answer;
  return renderExport(format, { name: "gate", reports: [report], toolVersion, warnings, evaluatedAt, failOn });
}

function assertManifestType(context: HttpContext): void {
  const mediaType = (context.req.header("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (mediaType === "" || mediaTypes.has(mediaType)) return;
  throw createHttpError(
    "UNSUPPORTED_MEDIA_TYPE",
    `Cannot read the manifests: the content type is "${mediaType}", not application/x-yaml or application/json`,
  );
}

const acceptFormats: readonly (readonly [string, ExportFormat])[] = [
  ["application/sarif+json", "sarif"],
  ["application/vnd.fleetscope.codequality+json", "codequality"],
  ["application/xml", "junit"],
  ["text/csv", "csv"],
  ["text/markdown", "markdown"],
  ["text/html", "html"],
];

function chooseFormat(context: HttpContext, wanted: string | undefined): ExportFormat {
  if (wanted !== undefined) {
    const format = parseExportFormat(wanted);
    if (format !== undefined) return format;
    throw fleetError(
      "scan_input_invalid",
      `Cannot answer as "${wanted}": the format must be one of ${Object.keys(exportTypes).join(", ")}`,
    );
  }
  const accepted = (context.req.header("accept") ?? "").split(",").map((part) => part.split(";", 1)[0]?.trim());
  return acceptFormats.find(([mediaType]) => accepted.includes(mediaType))?.[1] ?? "json";
}

function checkedPath(path: string | undefined): string {
  if (path === undefined || path === "") return "manifests";
  if (Buffer.byteLength(path) <= pathBytesMax) return path;
  throw fleetError(
    "query_invalid",
    `Cannot use the path: it has ${Buffer.byteLength(path)} bytes, at most ${pathBytesMax} are allowed`,
  );
}

function readConfig(text: string | undefined, options: GateRoutesOptions): readonly IgnoreRule[] {
  if (text === undefined) return [];
  if (Buffer.byteLength(text) > configBytesMax) {
    throw fleetError("ignore_config_invalid", `Cannot read ignore rules: they have more than ${configBytesMax} bytes`);
  }
  return options.parseConfig(text);
}
