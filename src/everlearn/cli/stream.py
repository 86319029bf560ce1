from cyclopts import App

app = App(name="stream", help="Look at streams, export them, cite them.")
