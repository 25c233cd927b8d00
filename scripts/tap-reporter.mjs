// The reporter of `tap`: one line for a passing file, the whole output of a failing one, and a closing line
// `N passed, N failed`. tap itself prints no such line.
import { appendFileSync } from "node:fs";
import { Transform } from "node:stream";

export default class SummaryReporter extends Transform {
  #pending = "";
  #fileLines = [];
  #totals = { pass: 0, fail: 0, skip: 0, todo: 0 };

  _transform(chunk, _encoding, done) {
    this.#pending += chunk;
    for (let end = this.#pending.indexOf("\n"); end >= 0; end = this.#pending.indexOf("\n")) {
      this.#handleLine(this.#pending.slice(0, end));
      this.#pending = this.#pending.slice(end + 1);
    }
    done();
  }

  #handleLine(line) {
    if (line === "" || line.startsWith(" ") || line.startsWith("# Subtest")) {
      this.#fileLines.push(line);
      return;
    }
    const result = line.match(/^(not )?ok \d+ - (\S+)(.*)$/);
    if (result) {
      if (result[1]) this.push(`${this.#fileLines.join("\n")}\n${line}\n`);
      else this.push(`ok ${result[2]}${result[3]}\n`);
      this.#fileLines = [];
      return;
    }
    const totals = line.match(/^# \{ (total: .*) \}$/);
    if (totals) {
      for (const pair of totals[1].split(", ")) {
        const [key, value] = pair.split(": ");
        this.#totals[key] = Number(value);
      }
      return;
    }
    if (!/^(TAP version|1\.\.\d|# time=)/.test(line)) this.push(`${line}\n`);
  }

  _flush(done) {
    for (const line of this.#fileLines) if (line.trim()) this.push(`${line}\n`);
    const { pass, fail, skip } = this.#totals;
    const totalsPath = process.env.SLIPWAY_TEST_TOTALS;
    if (totalsPath) appendFileSync(totalsPath, `${JSON.stringify(this.#totals)}\n`);
    this.push(`\n${pass} passed, ${fail} failed${skip > 0 ? `, ${skip} skipped` : ""}\n`);
    done();
  }
}
