import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sleep } from "../../../src/platform/time/clock.ts";

/** A headless Chromium, driven over its debugging protocol: enough to open a page, fill it in and read it. */
export interface Browser extends AsyncDisposable {
  open(url: string): Promise<Page>;
}

export interface Page {
  /** Evaluates an expression in the page; promises are awaited, the value must be JSON. */
  evaluate(expression: string): Promise<unknown>;
  /** Polls the expression until it is true. */
  waitFor(expression: string, timeoutMs?: number): Promise<void>;
  /** Exceptions and what the page was refused (its policy included), as the console shows them. */
  readonly complaints: readonly string[];
  screenshot(): Promise<Buffer>;
}

const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--remote-debugging-port=0",
  "--window-size=1200,900",
];

export async function startBrowser(): Promise<Browser> {
  const profile = mkdtempSync(join(tmpdir(), "slipway-browser-"));
  const child = spawn("chromium", [...flags, `--user-data-dir=${profile}`, "about:blank"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  try {
    const port = await readDebuggingPort(child);
    return {
      open: (url) => openPage(port, url),
      [Symbol.asyncDispose]: async () => {
        const ended = new Promise((resolve) => child.once("exit", resolve));
        child.kill("SIGTERM");
        await ended;
        rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
      },
    };
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
}

function readDebuggingPort(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    child.stderr?.on("data", (chunk) => {
      said += String(chunk);
      const port = said.match(/DevTools listening on ws:\/\/127\.0\.0\.1:(\d+)\//)?.[1];
      if (port !== undefined) resolve(port);
    });
    child.once("exit", (code) => reject(new Error(`chromium ended with ${code}: ${said.slice(-500)}`)));
    child.once("error", reject);
  });
}

interface ProtocolMessage {
  readonly id?: number;
  readonly method?: string;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
  readonly params?: Record<string, unknown>;
}

async function openPage(port: string, url: string): Promise<Page> {
  const response = await fetch(`http://127.0.0.1:${port}/json/new?about:blank`, { method: "PUT" });
  const { webSocketDebuggerUrl } = (await response.json()) as { webSocketDebuggerUrl: string };
  const socket = new WebSocket(webSocketDebuggerUrl);
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve, { once: true });
    socket.addEventListener("error", reject, { once: true });
  });
  const waiting = new Map<number, (message: ProtocolMessage) => void>();
  const complaints: string[] = [];
  socket.addEventListener("message", (event) => {
    const message = JSON.parse(String(event.data)) as ProtocolMessage;
    if (message.id !== undefined) waiting.get(message.id)?.(message);
    if (message.method === "Runtime.exceptionThrown" || message.method === "Log.entryAdded") {
      complaints.push(JSON.stringify(message.params));
    }
  });
  let lastId = 0;
  const send = async (method: string, params: object = {}): Promise<Record<string, unknown>> => {
    lastId += 1;
    const id = lastId;
    const answered = new Promise<ProtocolMessage>((resolve) => waiting.set(id, resolve));
    socket.send(JSON.stringify({ id, method, params }));
    const { result, error } = await answered;
    waiting.delete(id);
    if (error) throw new Error(`${method}: ${error.message}`);
    return result ?? {};
  };
  for (const domain of ["Page", "Runtime", "Log"]) await send(`${domain}.enable`);
  const evaluate = async (expression: string): Promise<unknown> => {
    const answer = await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (answer["exceptionDetails"]) throw new Error(JSON.stringify(answer["exceptionDetails"]));
    return (answer["result"] as { value?: unknown }).value;
  };
  const waitFor = async (expression: string, timeoutMs = 15_000): Promise<void> => {
    const startMs = performance.now();
    while ((await evaluate(expression)) !== true) {
      if (performance.now() - startMs > timeoutMs) {
        throw new Error(`the page never came to ${expression}: ${await evaluate("document.body.innerText")}`);
      }
      await sleep(50);
    }
  };
  await send("Page.navigate", { url });
  await waitFor(`document.readyState === "complete" && location.href !== "about:blank"`);
  return {
    evaluate,
    waitFor,
    complaints,
    screenshot: async () => Buffer.from(String((await send("Page.captureScreenshot"))["data"]), "base64"),
  };
}
