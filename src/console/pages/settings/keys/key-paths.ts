import { apiPath } from "../../../api/path.ts";
export const KEYS = apiPath`/api/v1/api-key`;
export const PERSONAL_KEYS = apiPath`/api/v1/api-key/current`;

/** A secret of a key that was created or rotated, for the one time that it is shown. */
export type NewSecret = { title: string; secret: string };
