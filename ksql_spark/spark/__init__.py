"""The only place for DataFrames."""
