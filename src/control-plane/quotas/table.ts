import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Meter, QuotaPeriod, QuotaSetter } from "./quota-schema.ts";

/** Limits of the work and the stored bytes of a workspace. The operator and the admins set separate rows. */
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
