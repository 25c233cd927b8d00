import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { startBrowser } from "../support/e2e/browser.ts";
import { startServer } from "../support/e2e/executable.ts";

/** Where to keep pictures for people to look at; none are kept otherwise. */
const pictureFolder = process.env["SLIPWAY_PICTURES"];

const token = "a-token-for-the-page-test";
const cwd = mkdtempSync(join(tmpdir(), "slipway-pages-"));
const server = startServer(["up", "--free-ports"], { cwd, env: { BRANCHSVC_TOKEN: token } });
const browser = await startBrowser();
t.teardown(async () => {
  await browser[Symbol.asyncDispose]();
  await server.stop("SIGTERM");
  rmSync(cwd, { recursive: true, force: true });
});
await server.waitFor(/Ctrl-C stops everything/, 60_000);

function urlOf(service: string): string {
  const url = server.said().match(new RegExp(`^${service} +running .*(http://127\\.0\\.0\\.1:\\d+)`, "m"))?.[1];
  if (url === undefined) throw new Error(`${service} does not run: ${server.said()}`);
  return url;
}

async function keep(page: { screenshot(): Promise<Buffer> }, name: string): Promise<void> {
  if (pictureFolder !== undefined) writeFileSync(join(pictureFolder, `${name}.png`), await page.screenshot());
}

t.test("the page of fleetscope judges what is pasted", async (t) => {
  const page = await browser.open(urlOf("fleetscope"));
  const manifests =
    "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: { name: web, namespace: <b>x</b> }\n";
  await page.evaluate(`document.getElementById("manifests").value = ${JSON.stringify(manifests)}`);
  await page.evaluate(`document.querySelector("button").click()`);
  await page.waitFor(`document.getElementById("verdict").className === "blocked"`);
  const text = String(await page.evaluate("document.body.innerText"));
  t.match(text, /PodDisruptionBudget is removed in 1\.25/);
  t.match(text, /Fix: policy\/v1beta1/);
  t.equal(await page.evaluate(`document.querySelectorAll("#findings b").length`), 0, "input is shown as text");
  await keep(page, "fleetscope");
  t.strictSame(
    page.complaints.filter((complaint) => !complaint.includes("422")),
    [],
  );
});

t.test("the page of bsd asks for the token and shows branches and sources", async (t) => {
  const page = await browser.open(`${urlOf("bsd")}/ui/`);
  t.equal(await page.evaluate(`document.getElementById("main").hidden`), true);
  const login = (text: string) =>
    page.evaluate(
      `document.getElementById("token").value = ${JSON.stringify(text)}; document.querySelector("#login button").click()`,
    );
  await login("wrong");
  await page.waitFor(`document.getElementById("message").textContent.includes("token")`);
  await page.waitFor(`document.getElementById("login").hidden === false`);
  await login(token);
  await page.waitFor(`document.getElementById("main").hidden === false`);
  t.match(await page.evaluate("document.body.innerText"), /Branches[\s\S]*Sources/);
  t.equal(await page.evaluate("localStorage.length"), 0, "the token stays in this tab");
  await page.evaluate(`document.getElementById("name").value = "pr-1"`);
  await keep(page, "bsd");
  t.strictSame(
    page.complaints.filter((complaint) => !complaint.includes("401")),
    [],
  );
});

t.test("the documentation pages render every operation", async (t) => {
  for (const service of ["queue", "bsd", "fleetscope"]) {
    const url = urlOf(service);
    const document = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, object> };
    const page = await browser.open(`${url}/docs`);
    const paths = Object.keys(document.paths);
    t.ok(paths.length > 0);
    await page.waitFor(`document.querySelectorAll("details.operation").length >= ${paths.length}`);
    const text = String(await page.evaluate("document.body.textContent"));
    t.ok(
      paths.every((path) => text.includes(path)),
      service,
    );
    await keep(page, `docs-${service}`);
    t.strictSame(page.complaints, [], service);
  }
});
