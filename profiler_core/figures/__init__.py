"""Results into Plotly figures; no reading and no computing beyond display units."""
