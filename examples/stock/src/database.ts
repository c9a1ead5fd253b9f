import pg from "pg";

export type Product = { name: string; pieces: number; shelf: string };

/** Connects for each run: a connection belongs to the run that opened it. */
export async function readProducts(): Promise<Product[]> {
  const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
  await client.connect();
  try {
    const { rows } = await client.query<Product>("SELECT name, pieces, shelf FROM products");
    return rows;
  } finally {
    await client.end();
  }
}
