import { z } from "zod";
import type {
  AuthRefusal,
  AuthResult,
  AuthUser,
  AuthVerdict,
  WireFilters,
} from "../../isolate/auth-contract.ts";
import { areHeaders } from "../../shared/errors.ts";
import { isRecord } from "../../shared/guards.ts";
import { MAX_DEPTH } from "../../shared/http/depth.ts";
import { plainObject } from "../../shared/plain.ts";

// Parsers of the results of an agent's own `Auth`: users and authorization filters.

/** The row of each run has its user. */
const USER_LIMITS = { nodes: 10_000, characters: 64 * 1024, depth: 64 };
const MAX_IDENTITY_CHARACTERS = 2048;
const MAX_PERMISSIONS = 1000;
/** Limits of the value of a request, which the agent's handlers return with their changes. */
const VALUE_LIMITS = { nodes: 1_000_000, characters: 16 * 1024 * 1024, depth: MAX_DEPTH };
const MAX_FILTERS = 100;
const MAX_FILTER_CHARACTERS = 2048;
const MAX_REFUSAL_CHARACTERS = 64 * 1024;
const MAX_HEADERS = 64;
const MAX_HEADER_CHARACTERS = 8192;

const User: z.ZodType<AuthUser> = plainObject(USER_LIMITS).pipe(
  z.looseObject({
    identity: z.string().min(1).max(MAX_IDENTITY_CHARACTERS),
    permissions: z.array(z.string()).max(MAX_PERMISSIONS),
    display_name: z.string(),
    is_authenticated: z.boolean(),
  }),
);

const Short = z.string().max(MAX_FILTER_CHARACTERS);
const Scalar = z.union([Short, z.number(), z.boolean(), z.null()]);
const Filter = z.union([
  z.strictObject({ eq: Scalar }),
  z.strictObject({ contains: counted(MAX_FILTERS, Scalar) }),
]);
// `z.record` drops the key `__proto__`. A dropped filter would show rows that it hides.
const Filters: z.ZodType<NonNullable<WireFilters>> = z
  .custom<object>(isRecord, "must be an object")
  .refine((filters) => Object.keys(filters).length <= MAX_FILTERS, "has too many keys")
  .refine((filters) => !Object.hasOwn(filters, "__proto__"), "has the key __proto__")
  .pipe(z.record(Short, Filter));

const Verdict: z.ZodType<AuthVerdict> = z.object({
  value: plainObject(VALUE_LIMITS),
  filters: Filters.nullable(),
});

const Header = z.tuple([z.string(), z.string().max(MAX_HEADER_CHARACTERS)]);
const Refusal: z.ZodType<AuthRefusal> = z.object({
  status: z.number().int().min(400).max(599),
  message: z.string().transform((text) => text.slice(0, MAX_REFUSAL_CHARACTERS)),
  headers: counted(MAX_HEADERS, Header).refine(areHeaders, "are not HTTP headers"),
});

export const UserAnswer = answered(User);
export const VerdictAnswer = answered(Verdict);
export const MatchAnswer = z.boolean();

function answered<T>(value: z.ZodType<T>): z.ZodType<AuthResult<T>> {
  return z.discriminatedUnion("ok", [
    z.object({ ok: z.literal(true), value }),
    z.object({ ok: z.literal(false), refusal: Refusal }),
  ]) as unknown as z.ZodType<AuthResult<T>>;
}

/** Parses a list. Counts its items before it parses them. */
function counted<T>(max: number, item: z.ZodType<T>) {
  return z.array(z.unknown()).max(max).pipe(z.array(item));
}
