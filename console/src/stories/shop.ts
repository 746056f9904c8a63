// A small story: orders of a shop.

export const SHOP_SQL = `CREATE STREAM orders (id INT KEY, item STRING, price DOUBLE)
  WITH (KAFKA_TOPIC = 'console_orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

CREATE STREAM big_orders AS
  SELECT * FROM orders WHERE price >= 20 EMIT CHANGES;

CREATE TABLE sales AS
  SELECT item, COUNT(*) AS n, SUM(price) AS revenue
  FROM orders GROUP BY item EMIT CHANGES;`;

const ROWS = [
  [1, "tea", 3.5], [2, "coffee", 4.2], [3, "kettle", 39], [4, "tea", 3.5], [5, "cup", 8], [6, "coffee", 4.2],
  [7, "grinder", 89], [8, "tea", 7], [9, "cup", 16], [10, "coffee", 8.4], [11, "kettle", 42], [12, "tea", 3.5],
] as const;

export const SHOP_ORDERS = ROWS.map(([id, item, price]) => `INSERT INTO orders (id, item, price) VALUES (${id}, '${item}', ${price});`).join("\n");
