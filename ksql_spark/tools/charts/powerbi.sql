-- a preview
select "$Table"."{key}" as "{key}", "$Table"."{text}" as "{text}", "$Table"."{number}" as "{number}", "$Table"."{time}" as "{time}"
from "public"."{table}" "$Table" limit 1000;
-- the number of rows
select count(*) as "$Item" from (select "$Table"."{key}" as "{key}" from "public"."{table}" "$Table") "rows";
-- bars in DirectQuery
select "_"."{text}", "_"."a0"
from (
  select "rows"."{text}" as "{text}", sum("rows"."{number}") as "a0"
  from (select "_"."{text}", "_"."{number}" from "public"."{table}" "_" where "_"."{time}" >= timestamp '2026-01-01 00:00:00') "rows"
  group by "{text}"
) "_"
where not "_"."a0" is null
limit 1000001;
-- a slicer
select "rows"."{text}" as "{text}" from (select "{text}" from "public"."{table}" "$Table") "rows" group by "{text}" order by "rows"."{text}" limit 101;
-- a range of dates
select "_"."{key}", "_"."{number}" from "public"."{table}" "_"
where ("_"."{time}" >= timestamp '2026-01-01 00:00:00' and "_"."{time}" < timestamp '2026-02-01 00:00:00') and ("_"."{text}" = 'ann' and "_"."{text}" is not null);
-- merged queries
select "$Outer"."{key}" as "{key}", "$Inner"."{text}" as "Other.{text}"
from "public"."{table}" "$Outer"
left outer join (select "_"."{key}" as "{key}0", "_"."{text}" as "{text}" from "public"."{table}" "_") "$Inner" on ("$Outer"."{key}" = "$Inner"."{key}0");
-- a custom column
select "_"."{key}" as "{key}", case when "_"."{number}" > 10 then 'large' else 'small' end as "Size" from (select "{key}", "{number}" from "public"."{table}" "$Table") "_";
-- averages and distinct counts
select "rows"."{text}" as "{text}", avg(cast("rows"."{number}" as double precision)) as "a0", count(distinct "rows"."{key}") as "a1", min("rows"."{time}") as "a2"
from (select "_"."{key}", "_"."{text}", "_"."{number}", "_"."{time}" from "public"."{table}" "_") "rows" group by "{text}";
