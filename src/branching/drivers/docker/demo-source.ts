import Docker from "dockerode";
import { sleep, systemClock } from "../../../platform/time/clock.ts";
import { probePostgres } from "../postgres-probe.ts";
import type { DockerEndpoint } from "./docker-endpoint.ts";
import { statusOf } from "./docker-errors.ts";
import { toDockerOptions } from "./docker-runtime.ts";

/** A throw-away Postgres for the demo of `slipway up`, from an image that the engine has already. */
export interface DemoSource extends AsyncDisposable {
  /** As reached from containers and from the container host. */
  readonly host: string;
}

export const demoImage = "postgres:17";
const startTimeoutMs = 60_000;
const retryMs = 100;
/** The image starts a private server first, to make the cluster; the real one admits twice in a row. */
const admissionsWanted = 3;

/** Undefined when the engine does not have the image: a demo does not download. */
export async function startDemoSource(endpoint: DockerEndpoint, password: string): Promise<DemoSource | undefined> {
  const docker = new Docker(toDockerOptions(endpoint));
  if (!(await hasImage(docker))) return undefined;
  const container = await docker.createContainer({
    Image: demoImage,
    Env: [`POSTGRES_PASSWORD=${password}`],
    Entrypoint: ["sh", "-c"],
    Cmd: [
      'mkdir -p /docker-entrypoint-initdb.d && echo \'echo "host replication all all scram-sha-256" >> "$PGDATA/pg_hba.conf"\' > /docker-entrypoint-initdb.d/replication.sh; exec docker-entrypoint.sh postgres -c wal_level=replica',
    ],
    Labels: { "branchsvc.demo": "source" },
  });
  const remove = async (): Promise<void> => {
    await container.remove({ force: true, v: true });
  };
  try {
    await container.start();
    const { NetworkSettings } = await container.inspect();
    const host = Object.values(NetworkSettings.Networks)[0]?.IPAddress ?? "";
    await untilAdmitting(host);
    return { host, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function hasImage(docker: Docker): Promise<boolean> {
  try {
    await docker.getImage(demoImage).inspect();
    return true;
  } catch (error) {
    if (statusOf(error) === 404) return false;
    throw error;
  }
}

async function untilAdmitting(host: string): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + startTimeoutMs;
  for (let admissions = 0; admissions < admissionsWanted; ) {
    admissions = (await probePostgres(host, 5432)) === "admitting" ? admissions + 1 : 0;
    if (systemClock.monotonicMs() > deadlineMs) throw new Error("the demo database did not start");
    await sleep(retryMs);
  }
}
