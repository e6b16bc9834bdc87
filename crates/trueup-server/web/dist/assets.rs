// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-DEM47V4H.css", include_bytes!("main-DEM47V4H.css")),
    ("main-3EUMB6CF.js", include_bytes!("main-3EUMB6CF.js")),
]
