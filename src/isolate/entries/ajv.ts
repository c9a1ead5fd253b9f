/**
 * Replaces Ajv in the SDK of the Model Context Protocol, which validates the results of tools with it. Ajv generates code
 * from text, which Workers refuse. This validator interprets schemas.
 */
import { type OutputUnit, type Schema, Validator } from "@cfworker/json-schema";

type Validate = { (value: unknown): boolean; errors: OutputUnit[] | null };

/** The part of Ajv's class that the SDK uses. */
class Ajv {
  readonly #byId = new Map<string, Validate>();

  compile(schema: Schema): Validate {
    const validator = new Validator(schema, "2020-12", false);
    const validate: Validate = (value) => {
      const { valid, errors } = validator.validate(value);
      validate.errors = valid ? null : errors;
      return valid;
    };
    validate.errors = null;
    if (schema.$id !== undefined) this.#byId.set(schema.$id, validate);
    return validate;
  }

  getSchema(id: string): Validate | undefined {
    return this.#byId.get(id);
  }

  errorsText(errors: OutputUnit[] | null): string {
    const texts = errors?.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`);
    return texts?.join("; ") ?? "No errors";
  }
}

// biome-ignore lint/style/noDefaultExport: the default export of Ajv, which the SDK imports
export { Ajv, Ajv as default };
