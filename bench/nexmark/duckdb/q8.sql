SELECT DISTINCT p.id, p.name, p.dateTime // 10000 * 10000 AS starts
FROM person p JOIN auction a ON p.id = a.seller AND p.dateTime // 10000 = a.dateTime // 10000;
