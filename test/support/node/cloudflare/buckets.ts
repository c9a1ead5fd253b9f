import { ApiFailure, type Call, json, type Routes } from "./api.ts";

type Rule = { id: string; conditions: { prefix?: string }; [transition: string]: unknown };
type Bucket = { name: string; jurisdiction: string; creation_date: string };

/** The rule that each bucket has from its creation. */
const DEFAULT_RULE: Rule = {
  id: "Default Multipart Abort Rule",
  enabled: true,
  conditions: { prefix: "" },
  abortMultipartUploadsTransition: { condition: { type: "Age", maxAge: 604_800 } },
};

/** A bucket exists in its jurisdiction only. */
export class Buckets {
  readonly all: Bucket[] = [];
  readonly #rules = new Map<Bucket, Rule[]>();

  readonly routes: Routes = {
    "GET /r2/buckets": (call) => ({ buckets: this.all.filter((bucket) => isIn(bucket, call)) }),
    "POST /r2/buckets": (call) => this.#create(call),
    "GET /r2/buckets/:name": (call, [name]) => this.#find(call, name),
    "GET /r2/buckets/:name/lifecycle": (call, [name]) => ({
      rules: this.#rules.get(this.#find(call, name)),
    }),
    "PUT /r2/buckets/:name/lifecycle": (call, [name]) => {
      this.#rules.set(this.#find(call, name), json<{ rules: Rule[] }>(call).rules);
      return {};
    },
  };

  /** Rules of the buckets with this name. */
  rulesOf(name: string): Rule[] {
    return this.all.flatMap((each) => (each.name === name ? (this.#rules.get(each) ?? []) : []));
  }

  #find(call: Call, name: string | undefined): Bucket {
    const found = this.all.find((bucket) => bucket.name === name && isIn(bucket, call));
    if (found) return found;
    throw new ApiFailure(404, 10006, "The specified bucket does not exist.");
  }

  #create(call: Call): Bucket {
    const { name } = json<{ name: string }>(call);
    if (this.all.some((bucket) => bucket.name === name && isIn(bucket, call))) {
      const message = "The bucket you tried to create already exists, and you own it.";
      throw new ApiFailure(409, 10004, message);
    }
    const jurisdiction = call.jurisdiction ?? "default";
    const made = { name, jurisdiction, creation_date: new Date().toISOString() };
    this.all.push(made);
    this.#rules.set(made, [DEFAULT_RULE]);
    return made;
  }
}

function isIn(bucket: Bucket, { jurisdiction }: Call): boolean {
  return bucket.jurisdiction === (jurisdiction ?? "default");
}
