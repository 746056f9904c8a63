-- Statements that people and tools write, each in a line.
SELECT id FROM orders "any text: $1" WHERE "any text: $1".id = 1
