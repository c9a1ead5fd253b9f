import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Meter, QuotaPeriod, QuotaSetter } from "./quota-schema.ts";

/** Limits of the work of a workspace. Those of the operator and those of admins are rows of their own. */
export const quotas = sqliteTable(
  "quotas",
  {
    workspace_id: text().notNull(),
    meter: text().$type<Meter>().notNull(),
    period: text().$type<QuotaPeriod>().notNull(),
    set_by: text().$type<QuotaSetter>().notNull(),
    limit: integer().notNull(),
    updated_at: text().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.workspace_id, table.meter, table.period, table.set_by] }),
  ],
);
