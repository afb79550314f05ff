# A released private regression, read from its record (JSON). Nothing here fits anything or sees a private row.

NEWEST <- 2L # version of the record; a later one is refused

# Functions that a record's formula may call. A record may come from anybody: nothing else is evaluated.
ALLOWED <- c("+", "-", "*", "/", ":", "^", "(", "C", "log", "log10", "log2", "log1p", "exp", "sqrt", "abs", "I")

#' Read the record of a release.
#'
#' @param path a file that `release --json --out FILE` or `model.to_json(path)` wrote.
#' @return an object of class "released_regression".
read_release <- function(path) {
  record <- jsonlite::fromJSON(path, simplifyVector = FALSE)
  if (!identical(record$format, "second-moment/release")) stop("The file is no release of Second Moment.")
  if (record$version > NEWEST) stop("The record is of a later version; update this package.")
  if (is.null(record$inference)) stop("The record has no limits (version 1, or a method without): nothing to tabulate.")
  names <- names(record$coefficients)
  triangles <- record$inference$covariance
  structure(list(
    record = record,
    names = names,
    estimate = unlist(record$coefficients),
    centre = stats::setNames(unlist(record$inference$centre), names),
    freedom = stats::setNames(unlist(record$inference$freedom), names),
    parts = lapply(record$bands, function(band) unlist(band[intersect(c("privacy", "sampling", "truncation"), names(band))])),
    covariances = lapply(triangles, function(values) symmetric(unlist(values), names))
  ), class = "released_regression")
}

# A symmetric matrix from its lower triangle, row by row.
symmetric <- function(values, names) {
  d <- length(names)
  found <- matrix(0, d, d, dimnames = list(names, names))
  found[upper.tri(found, diag = TRUE)] <- values # column by column of the upper one: the same order
  found[lower.tri(found)] <- t(found)[lower.tri(found)]
  found
}

# Names of coefficients as other packages write the intercept.
shown <- function(names) sub("^\\(intercept\\)$", "(Intercept)", names)

standard_errors <- function(object) vapply(object$parts, function(part) sqrt(sum(part^2)), numeric(1))

#' Estimates that limits and tests lie around; `drawn = TRUE`: the published ones, drawn towards the public fit.
coef.released_regression <- function(object, drawn = TRUE, ...) {
  stats::setNames(if (drawn) object$estimate else object$centre, shown(object$names))
}

#' Covariance of the centre: of privacy noise, sampling and truncation together, or of one part.
vcov.released_regression <- function(object, part = NULL, ...) {
  if (length(object$covariances) == 0) stop("The record has variances alone.")
  found <- if (is.null(part)) Reduce(`+`, object$covariances) else object$covariances[[match.arg(part, names(object$covariances))]]
  dimnames(found) <- list(shown(object$names), shown(object$names))
  found
}

nobs.released_regression <- function(object, ...) object$record$n

#' Limits around the centre, widened to hold the published estimate.
confint.released_regression <- function(object, parm, level = 0.95, ...) {
  half <- stats::qt(1 - (1 - level) / 2, object$freedom) * standard_errors(object)
  found <- cbind(pmin(object$centre - half, object$estimate), pmax(object$centre + half, object$estimate))
  edges <- c((1 - level) / 2, 1 - (1 - level) / 2)
  dimnames(found) <- list(shown(object$names), paste(format(100 * edges, trim = TRUE, digits = 3), "%"))
  if (missing(parm)) found else found[parm, , drop = FALSE]
}

tidy <- function(x, ...) UseMethod("tidy")
glance <- function(x, ...) UseMethod("glance")

#' One row for each coefficient, in broom's names.
tidy.released_regression <- function(x, conf.int = FALSE, conf.level = 0.95, ...) {
  error <- standard_errors(x)
  statistic <- x$centre / error
  agree <- x$estimate * x$centre > 0 # else zero lies between the two, and in every interval
  found <- data.frame(
    term = shown(x$names),
    estimate = unname(x$estimate),
    std.error = unname(error),
    statistic = unname(statistic),
    p.value = unname(ifelse(agree, 2 * stats::pt(-abs(statistic), x$freedom), 1)),
    stringsAsFactors = FALSE
  )
  if (conf.int) {
    limits <- confint(x, level = conf.level)
    found$conf.low <- unname(limits[, 1])
    found$conf.high <- unname(limits[, 2])
  }
  found
}

#' One row for the release: rows, fit where it was released, and the guarantee.
glance.released_regression <- function(x, ...) {
  given <- function(value) if (is.null(value)) NA_real_ else value
  promise <- x$record$guarantee
  data.frame(
    method = x$record$method,
    standing = x$record$standing,
    nobs = x$record$n,
    public.rows = given(x$record$public_rows),
    r.squared = given(x$record$released$r_squared),
    sigma = given(x$record$released$residual_sd),
    mu = promise$mu,
    rho = promise$rho,
    epsilon = promise$epsilon,
    delta = promise$delta,
    neighbours = promise$neighbours,
    stringsAsFactors = FALSE
  )
}

#' Predictions for new rows; of labels and counts the chance or the mean.
#'
#' @param type "response", or "link" for the linear predictor.
predict.released_regression <- function(object, newdata, type = c("response", "link"), ...) {
  type <- match.arg(type)
  design <- object$record$design
  if (length(design) == 0) stop("The record does not say how rows become features.")
  x <- if (is.null(design$formula)) from_columns(design, newdata) else from_formula(design, newdata)
  if (isTRUE(design$intercept)) x <- cbind(1, x)
  if (!is.null(design$kept)) x <- x[, unlist(design$kept) + 1L, drop = FALSE]
  if (ncol(x) != length(object$estimate)) stop("The rows make other columns than the record has.")
  eta <- drop(x %*% object$estimate)
  if (type == "link") return(unname(eta))
  unname(switch(design$target$family,
    gaussian = eta,
    logistic = stats::plogis(eta),
    poisson = exp(eta),
    boosting = 0.5 + eta / (4 * sqrt(1 + eta^2 / 4)),
    stop("No such family: ", design$target$family)
  ))
}

column_of <- function(name, newdata) {
  if (!name %in% names(newdata)) stop("The new rows have no column ", sQuote(name), ".")
  newdata[[name]]
}

# Features from columns as they are: numbers, days, and dummies of public levels.
from_columns <- function(design, newdata) {
  filled <- identical(design$missing, "public-median")
  parts <- lapply(design$columns, function(rule) {
    cells <- column_of(rule$name, newdata)
    if (is.null(rule$dummies)) {
      value <- if (rule$kind %in% c("date", names(ORDERS))) days(cells, rule$kind) else as.numeric(cells)
      if (filled && !is.null(rule$fill)) value[is.na(value)] <- rule$fill
      return(matrix(value, ncol = 1))
    }
    levels <- unlist(rule$levels)
    text <- as.character(cells)
    text[!nzchar(text)] <- NA # as files write a missing value
    if (rule$kind == "caseless") {
      known <- text %in% levels | !(plain_form(text) %in% plain_form(levels))
      text[!known] <- levels[match(plain_form(text[!known]), plain_form(levels))]
    }
    missing <- is.na(text)
    home <- if (is.null(rule$home)) NA_character_ else rule$home
    text[!missing & (!text %in% levels | text %in% unlist(rule$merged))] <- home
    lacking <- is.na(text)
    found <- vapply(unlist(rule$dummies), function(dummy) as.numeric(text == dummy), numeric(length(text)))
    found <- matrix(found, nrow = length(text))
    found[lacking, ] <- NA
    if (filled) found[missing, ] <- 0
    found
  })
  do.call(cbind, parts)
}

# Texts without their capitals and blanks.
plain_form <- function(text) gsub("[[:space:]]", "", tolower(text))

# Orders of day and month in texts with slashes.
ORDERS <- c("day-first" = "%d/%m/%Y", "month-first" = "%m/%d/%Y")

days <- function(cells, kind = "date") {
  if (inherits(cells, "POSIXt")) return(as.numeric(cells) / 86400)
  if (kind %in% names(ORDERS) && !inherits(cells, "Date")) return(as.numeric(as.Date(as.character(cells), ORDERS[[kind]])))
  as.numeric(as.Date(cells))
}

# Features from the record's formula, once everything it calls was found on the list.
from_formula <- function(design, newdata) {
  formula <- design$formula
  if (length(formula$state) > 0) stop("The formula has transformations with a state (scale, center, poly): predict in Python.")
  right <- stats::as.formula(paste("~", formula$right), env = plain_environment())
  called <- setdiff(all.names(right[[2]], unique = TRUE), c(all.vars(right), ALLOWED))
  if (length(called) > 0) stop("The formula calls ", paste(sQuote(called), collapse = ", "), ", which is not evaluated here.")
  rows <- list()
  for (rule in formula$columns) {
    cells <- column_of(rule$name, newdata)
    rows[[rule$name]] <- switch(rule$kind,
      level = factor(as.character(cells), levels = unlist(rule$levels)),
      date = ,
      `day-first` = ,
      `month-first` = days(cells, rule$kind),
      as.numeric(cells)
    )
  }
  frame <- as.data.frame(rows, check.names = FALSE, optional = TRUE)
  found <- stats::model.matrix(right, stats::model.frame(right, frame, na.action = stats::na.pass))
  found <- found[, colnames(found) != "(Intercept)", drop = FALSE]
  names <- same_words(gsub("\\[T?\\.?([^]]*)\\]", "\\1", unlist(formula$names)))
  made <- same_words(colnames(found))
  if (!setequal(made, names)) stop("The formula makes other columns in R: predict in Python.")
  found <- found[, match(names, made), drop = FALSE]
  found[!stats::complete.cases(frame) | !apply(is.finite(found), 1, all), ] <- NA
  found
}

# Names of columns without what formulaic and R write differently.
same_words <- function(names) gsub("**", "^", gsub("[ `]", "", names), fixed = TRUE)

# An environment in which only the functions of the list exist.
plain_environment <- function() {
  place <- new.env(parent = emptyenv())
  # model.frame() evaluates the variables as one list in the formula's environment.
  for (name in c(setdiff(ALLOWED, "C"), "~", "list")) assign(name, get(name, envir = baseenv()), envir = place)
  assign("C", function(x, ...) if (is.factor(x)) x else factor(x), envir = place)
  place
}

print.released_regression <- function(x, ...) {
  cat(x$record$title, " (", x$record$method, ") of ", x$record$target, ", standing: ", x$record$standing, "\n", sep = "")
  print(tidy(x, conf.int = TRUE), row.names = FALSE)
  cat(x$record$guarantee_in_words, "\n")
  invisible(x)
}

# Where the package 'generics' (of broom) is there, its tidy() and glance() find these methods too.
.onLoad <- function(libname, pkgname) {
  if (requireNamespace("generics", quietly = TRUE)) {
    registerS3method("tidy", "released_regression", tidy.released_regression, envir = asNamespace("generics"))
    registerS3method("glance", "released_regression", glance.released_regression, envir = asNamespace("generics"))
  }
}
