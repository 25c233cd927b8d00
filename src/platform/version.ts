import packageJson from "../../package.json" with { type: "json" };

/** The version of this executable, without a leading `v`. */
export const version: string = packageJson.version;
