/**
 * A plug-in of Stryker: it reduces the plan to a sample, and sends the sample and each result to the parent process.
 * Stryker itself tries every mutant of a file.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { relative } from "node:path";

/** A mutant as a change of one line. `from` and `to` are what the line was and is, without its indentation. */
export interface Change {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** A mutant of the sample. */
export interface Sampled extends Change {
  readonly id: string;
  readonly line: number;
  readonly accepted: boolean;
}

/** What the plug-in needs to know, as JSON in the variable `MUTANTS_SAMPLE`. */
export interface SampleOptions {
  readonly seed: number;
  readonly count: number;
}

export type Message =
  | {
      readonly kind: "sample";
      readonly sample: readonly Sampled[];
      /** How many mutants the area has. */
      readonly of: number;
      /** Accepted mutants that the sources do not have any more. */
      readonly stale: readonly Change[];
    }
  | { readonly kind: "result"; readonly id: string; readonly status: string };

interface Position {
  readonly line: number;
  readonly column: number;
}

/** The part of Stryker's mutant that this uses. Lines and columns count from 0. */
interface Mutant {
  readonly id: string;
  readonly fileName: string;
  readonly location: { readonly start: Position; readonly end: Position };
  readonly replacement: string;
}

interface Plan {
  readonly mutant: Mutant;
}

/**
 * The mutants that no test can notice, or only one that looks at the implementation: entries as the command prints them,
 * each with its reason.
 */
const ACCEPTED: readonly Change[] = readFileSync(new URL("accepted.txt", import.meta.url), "utf8")
  .trim()
  .split(/\n{2,}/)
  .map((entry) => {
    const [, file, from, to] = /^(\S+)\n {2}- (.*)\n {2}\+ (.*)\n {2}\S.*$/.exec(entry) ?? [];
    if (file === undefined || from === undefined || to === undefined)
      throw new Error(
        `test/mutants/accepted.txt: write a file, a '-' line, a '+' line and a reason:\n${entry}`,
      );
    return { file, from, to };
  });

const reporter = {
  /** Stryker executes the array that it hands over here, in its order. */
  onMutationTestingPlanReady({ mutantPlans }: { readonly mutantPlans: Plan[] }): void {
    const { seed, count } = JSON.parse(process.env["MUTANTS_SAMPLE"] ?? "{}") as SampleOptions;
    const changes = changesOf(mutantPlans.map(({ mutant }) => mutant));
    const ranked = mutantPlans
      .map((plan, index) => ({ plan, change: changes[index] as Change & { line: number; key: string } }))
      .map((entry) => ({
        ...entry,
        rank: createHash("sha256").update(`${seed} ${entry.change.key}`).digest("hex"),
      }))
      .sort((a, b) => (a.rank < b.rank ? -1 : 1))
      .slice(0, count);
    const sample = ranked.map(({ plan, change: { file, from, to, line } }) => {
      return {
        id: plan.mutant.id,
        file,
        line,
        from,
        to,
        accepted: ACCEPTED.some(isSame({ file, from, to })),
      };
    });
    const files = new Set(changes.map(({ file }) => file));
    const stale = ACCEPTED.filter((entry) => files.has(entry.file) && !changes.some(isSame(entry)));
    const tried = ranked.map(({ plan }) => plan).filter((_plan, index) => sample[index]?.accepted === false);
    send({ kind: "sample", sample, of: mutantPlans.length, stale });
    mutantPlans.splice(0, mutantPlans.length, ...tried);
  },

  onMutantTested({ id, status }: { readonly id: string; readonly status: string }): void {
    send({ kind: "result", id, status });
  },
};

export const strykerPlugins: readonly object[] = [{ kind: "Reporter", name: "sampler", value: reporter }];

const isSame = (a: Change) => (b: Change) => a.file === b.file && a.from === b.from && a.to === b.to;

const send = (message: Message) => process.send?.(message);

/** Each mutant as a change, with a key that does not depend on the lines and mutants elsewhere in the file. */
function changesOf(mutants: readonly Mutant[]): readonly (Change & { line: number; key: string })[] {
  const linesOf = new Map<string, readonly string[]>();
  const seen = new Map<string, number>();
  return mutants.map(({ fileName, location: { start, end }, replacement }) => {
    const lines = linesOf.get(fileName) ?? readFileSync(fileName, "utf8").split("\n");
    linesOf.set(fileName, lines);
    const first = lines[start.line] ?? "";
    const to = first.slice(0, start.column) + replacement + (lines[end.line] ?? "").slice(end.column);
    const file = relative(process.cwd(), fileName);
    const change = { file, from: first.trim(), to: to.replace(/\s+/g, " ").trim() };
    const same = `${file} ${change.from} ${change.to}`;
    seen.set(same, (seen.get(same) ?? 0) + 1);
    return { ...change, line: start.line + 1, key: `${same} ${seen.get(same)}` };
  });
}
