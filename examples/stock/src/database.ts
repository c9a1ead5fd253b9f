import pg from "pg";

export type Product = { name: string; pieces: number; shelf: string };

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });

export async function readProducts(): Promise<Product[]> {
  const { rows } = await pool.query<Product>("SELECT name, pieces, shelf FROM products");
  return rows;
}
