CREATE TABLE products (name text PRIMARY KEY, pieces integer NOT NULL, shelf text NOT NULL);
INSERT INTO products VALUES ('hammer', 12, 'A3'), ('screwdriver', 40, 'A4'), ('spirit level', 0, 'C1');
